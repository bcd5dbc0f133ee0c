-- A virtual table may need a module that is not loaded. SQLite cannot list what views read: match their SQL.
with own as (select name, sql from sqlite_schema where type = 'table' and name not like 'sqlite\_%' escape '\' and sql not like 'create virtual%')
select 'relation', '', name, type from sqlite_schema where name not like 'sqlite\_%' escape '\'
union all select case when c."notnull" and c.dflt_value is null and c.pk = 0 then 'needed' else 'column' end, own.name, c.name, case when c.hidden = 0 then c.type || coalesce(' default ' || c.dflt_value, '') else '' end from own, pragma_table_xinfo(own.name) as c
union all select 'notNull', own.name, c.name, '' from own, pragma_table_xinfo(own.name) as c where c."notnull"
union all select type, tbl_name, name, case when type = 'trigger' then substr(lower(sql), 1, instr(lower(sql), ' on ')) else '' end from sqlite_schema where type in ('index', 'trigger') and sql is not null
union all select 'reader', target.name, 'foreign key (' || key."from" || ') of table "' || own.name || '"', coalesce(key."to", '') from own, pragma_foreign_key_list(own.name) as key, own as target where lower(target.name) = lower(key."table") and target.name <> own.name
union all select 'reader', own.name, 'constraint foreign key (' || key."from" || ')', key."from" from own, pragma_foreign_key_list(own.name) as key
union all select 'reader', own.name, 'constraint unique (' || (select group_concat(name, ', ') from pragma_index_info(i.name)) || ')', c.name from own, pragma_index_list(own.name) as i, pragma_index_info(i.name) as c where i.origin = 'u'
union all select 'reader', own.name, 'constraint ' || value, c.name from own, json_each({CHECKS}(own.sql)), pragma_table_xinfo(own.name) as c where instr(lower(value), lower(c.name)) > 0
union all select 'reader', own.name, 'trigger ' || t.name, c.name from own, sqlite_schema as t, json_each({UPDATE_OF}(t.sql)), pragma_table_xinfo(own.name) as c where t.type = 'trigger' and lower(t.tbl_name) = lower(own.name) and value = lower(c.name)
union all select 'reader', own.name, 'view ' || v.name, '' from own, sqlite_schema as v where v.type = 'view' and instr(lower(v.sql), lower(own.name)) > 0
