-- A virtual table may need a module that is not loaded. SQLite cannot list what views read: match their SQL.
with own as (select name, sql from sqlite_schema where type = 'table' and name not like 'sqlite\_%' escape '\' and sql not like 'create virtual%'),
-- Of a trigger, the words from its name to its table: its event.
made as (select rowid as at, type, tbl_name, name, name like '\_records\_%' escape '\' as isOwn, sql, substr(replace(replace(replace(lower(sql), char(13), ' '), char(10), ' '), char(9), ' '), 15 + length(name)) as words from sqlite_schema where type in ('index', 'trigger') and sql is not null),
-- SQLite does not look at the columns that a trigger sets until it fires. Those of the engine set only its own tables.
sets as materialized (select distinct made.name, value as word from made, json_each({SETS}(made.sql)) where made.type = 'trigger' and made.name not like '\_records%' escape '\')
select 'relation', '', name, type from sqlite_schema where name not like 'sqlite\_%' escape '\'
union all select 'needed', own.name, c.name, '' from own, pragma_table_xinfo(own.name) as c where c."notnull" and c.dflt_value is null and c.pk = 0
union all select 'column', own.name, c.name, case when c.hidden = 0 then c.type || iif(c."notnull", ' not null', '') || coalesce(' default (' || c.dflt_value || ')', '') else '' end from own, pragma_table_xinfo(own.name) as c
-- By affinity, as tables of others need not be strict. A column without a type takes all values.
union all select 'typed', own.name, c.name, case when c.hidden > 0 then 'generated' when c.type like '%int%' then 'integer' when c.type like '%char%' or c.type like '%clob%' or c.type like '%text%' then 'text' when c.type = 'any' collate nocase then '' else lower(c.type) end from own, pragma_table_xinfo(own.name) as c
union all select 'notNull', own.name, c.name, '' from own, pragma_table_xinfo(own.name) as c where c."notnull"
union all select type, own.name, made.name, substr(words, 1, instr(words, ' on ')) from own, made where lower(tbl_name) = lower(own.name)
union all select 'reader', target.name, 'foreign key (' || key."from" || ') of table "' || own.name || '"', coalesce(key."to", '') from own, pragma_foreign_key_list(own.name) as key, own as target where lower(target.name) = lower(key."table") and target.name <> own.name
union all select 'reader', own.name, 'constraint foreign key (' || key."from" || ')', key."from" from own, pragma_foreign_key_list(own.name) as key
union all select 'reader', own.name, 'constraint unique (' || (select group_concat(name, ', ') from pragma_index_info(i.name)) || ')', c.name from own, pragma_index_list(own.name) as i, pragma_index_info(i.name) as c where i.origin = 'u'
union all select 'reader', own.name, 'index ' || i.name, c.name from own, pragma_index_list(own.name) as i, pragma_index_info(i.name) as c where i.origin = 'c' and c.name is not null
union all select 'reader', own.name, 'constraint ' || value, coalesce(c.name, '') from own, json_each({CHECKS}(own.sql)) left join pragma_table_xinfo(own.name) as c on instr(lower(value), lower(c.name)) > 0
union all select 'reader', own.name, 'trigger ' || t.name, c.name from own, sets as t, sets as s, pragma_table_xinfo(own.name) as c where t.name = s.name and t.word = lower(own.name) and s.word = lower(c.name)
union all select 'reader', own.name, 'view ' || v.name, '' from own, sqlite_schema as v where v.type = 'view' and instr(lower(v.sql), lower(own.name)) > 0
union all select 'property', own.name, 'generated column ' || c.name, '' from own, pragma_table_xinfo(own.name) as c where c.hidden in (2, 3)
union all select iif(c.dflt_value glob '*[(a-zA-Z]*' and c.dflt_value not like '''%', 'property', 'constant'), own.name, 'default ' || c.dflt_value || ' of column ' || c.name, c.name from own, pragma_table_xinfo(own.name) as c where lower(c.dflt_value) <> 'null'
-- The newest trigger runs first: what others change in their turn is recorded after the change that made them run.
union all select 'recording', own.name, '', '' from own, made where made.type = 'trigger' and lower(tbl_name) = lower(own.name) group by own.name having count(*) filter (where isOwn) = 3 and min(at) filter (where isOwn) > coalesce(max(at) filter (where not isOwn), 0)
