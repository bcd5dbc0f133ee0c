-- Schema objects. Dropping a column drops its constraints and indexes, and a table takes more along; what others made of these
-- blocks a step. So do properties, which a column or a table that takes the place of another does not have.
with own as (
    select oid, relname::text as name, relacl, reloptions, relrowsecurity from pg_class
    where relnamespace = quote_ident(current_schema())::regnamespace and relkind in ('r', 'p')
  ), part as (
    select name, 'pg_class'::regclass as class, oid as id from own
    union all select name, 'pg_type'::regclass, t.oid from own join pg_type r on r.typrelid = own.oid join pg_type t on t.oid in (r.oid, r.typarray)
    union all select name, 'pg_class'::regclass, s.oid from own join pg_depend on refclassid = 'pg_class'::regclass and refobjid = own.oid
      and classid = 'pg_class'::regclass and deptype = 'i' join pg_class s on s.oid = objid and s.relkind = 'S'
  ), reader as (
    select part.name as "table", coalesce(attname::text, '') as "column", case classid
      when 'pg_trigger'::regclass then (select 'trigger ' || tgname from pg_trigger t where t.oid = objid)
      when 'pg_rewrite'::regclass then (select case c.oid when refobjid then 'rule ' || rulename else 'view ' || c.oid::regclass end from pg_rewrite r join pg_class c on c.oid = r.ev_class where r.oid = objid)
      when 'pg_class'::regclass then (select case when objsubid > 0 or relkind not in ('r', 'f', 'i', 'I') then pg_describe_object(classid, objid, objsubid)
        when relkind in ('r', 'f') then 'table ' || relname else 'index ' || relname end from pg_class c where c.oid = objid)
      when 'pg_constraint'::regclass then (select case when conrelid = refobjid then 'constraint ' || conname else format('foreign key %s of table "%s"', conname, c.relname) end
        from pg_constraint t join pg_class c on c.oid = conrelid where t.oid = objid and t.contype in ('c', 'f', 'u', 'x') and not ({OWN_CHECK}))
      when 'pg_attrdef'::regclass then (select case adrelid when refobjid then 'generated column ' || g.attname else pg_describe_object(classid, objid, objsubid) end
        from pg_attrdef d join pg_attribute g on g.attrelid = adrelid and g.attnum = adnum where d.oid = objid)
      else pg_describe_object(classid, objid, objsubid) end as name
    from pg_depend join part on refclassid = class and refobjid = id
      left join pg_attribute on attrelid = refobjid and attnum = refobjsubid and refobjsubid > 0
    where deptype = 'n' or deptype = 'a' and classid in ('pg_class'::regclass, 'pg_constraint'::regclass, 'pg_policy'::regclass, 'pg_statistic_ext'::regclass)
    union all select own.name, i.relname::text, case when conrelid = confrelid then 'constraint ' || conname else format('foreign key %s of table "%s"', conname, c.relname) end
    from pg_constraint t join own on own.oid = confrelid join pg_class i on i.oid = conindid join pg_class c on c.oid = conrelid where contype = 'f'
    union all select own.name, attname::text, 'table ' || c.relname
    from pg_inherits join own on own.oid = inhparent join pg_class c on c.oid = inhrelid and not relispartition join pg_attribute on attrelid = own.oid and attnum > 0 and not attisdropped
    union all select own.name, attname::text, 'forced row level security' from own join pg_class c on c.oid = own.oid and relforcerowsecurity join pg_attribute on attrelid = own.oid and attnum > 0
      where not exists (select 1 from pg_roles where rolname = current_user and (rolsuper or rolbypassrls))
    union all select own.name, part, 'replica identity' from own join pg_index on indrelid = own.oid and indisreplident
      cross join lateral (select relname::text from pg_class c where c.oid = indexrelid union all select attname::text from pg_attribute where attrelid = indrelid and attnum = any (indkey)) as one(part)
  )
  select 'relation', '', relname::text, case relkind when 'r' then 'table' when 'p' then 'table' when 'v' then 'view' when 'm' then 'materialized view'
    when 'i' then 'index' when 'I' then 'index' when 'S' then 'sequence' when 'f' then 'foreign table' else 'type' end
    from pg_class where relnamespace = quote_ident(current_schema())::regnamespace
  union all select 'relation', '', typname::text, 'type' from pg_type
    where typnamespace = quote_ident(current_schema())::regnamespace and typrelid = 0 and typcategory <> 'A'
  union all select kind, own.name, attname::text, type from own join pg_attribute on attrelid = own.oid and attnum > 0 and not attisdropped
    join pg_type t on t.oid = atttypid join pg_type b on b.oid = coalesce(nullif(t.typbasetype, 0), t.oid)
    left join pg_index on indrelid = own.oid and indisprimary and indkey::text = attnum::text
    cross join lateral (select case when attgenerated <> '' or attidentity = 'a' then 'generated' when b.typcategory = 'S' then 'text'
      when indrelid is not null and b.typname = 'int8' and pg_get_serial_sequence(quote_ident(own.name), attname) is null then 'bigint without identity'
      when b.typname in ('int2', 'int4') then 'bigint' when b.typname = 'float4' then 'double precision'
      when b.typname = 'timestamptz' then 'timestamptz' else format_type(b.oid, null) end) as word(type)
    cross join lateral (values ('column', true), ('typed', true), ('needed', attnotnull and not atthasdef and attidentity = '')) as one(kind, is_one) where is_one
  union all select 'notNull', own.name, attname::text, '' from own join pg_attribute on attrelid = own.oid and attnum > 0 and attnotnull
  union all select 'denied', case when has_schema_privilege(current_schema(), 'create') then null else '' end, current_schema()::text, ''
  union all select 'denied', own.name, own.name, '' from own join pg_class c on c.oid = own.oid where not pg_has_role(c.relowner, 'usage')
  union all select 'unlinkable', name, name, '' from own where not has_table_privilege(oid, 'references')
  union all select 'index', own.name, relname::text, '' from own join pg_index on indrelid = own.oid join pg_class c on c.oid = indexrelid
    where indisvalid and not indisprimary
  union all select 'trigger', own.name, tgname::text, case when tgenabled in ('D', 'R') then '' else concat_ws(' ', case when tgtype & 4 > 0 then 'insert' end,
      case when tgtype & 16 > 0 then case when cardinality(tgattr::int2[]) = 0 then 'update' else 'of' end end) end
    from own join pg_trigger on tgrelid = own.oid and not tgisinternal and not starts_with(tgname, '~_records_log')
  -- Event triggers, with a pattern of the statements that fire them.
  union all select 'trigger', '', evtname::text, coalesce(replace(array_to_string(evttags, '|'), 'CREATE INDEX', 'CREATE (UNIQUE )?INDEX'), case evtevent when 'sql_drop' then 'DROP (?!DEFAULT|NOT)' else '.' end)
    from pg_event_trigger where evtenabled not in ('D', 'R') and evtevent in ('ddl_command_start', 'ddl_command_end', 'sql_drop')
  union all select 'property', own.name, word || ' column ' || attname, attname::text from own join pg_attribute a on attrelid = own.oid and attnum > 0 and not attisdropped
    cross join lateral (values ('the comment on', col_description(own.oid, attnum) is not null), ('a grant on', attacl is not null),
      ('a setting of', attoptions is not null or attstattarget >= 0 or attstorage <> (select typstorage from pg_type t where t.oid = atttypid)),
      ('the type ' || format_type(atttypid, atttypmod) || ' of', format_type(atttypid, atttypmod) not in
        ('text', 'json', 'boolean', 'date', 'numeric', 'bigint', 'double precision', 'timestamp with time zone', 'uuid')),
      -- 950 is the collation "C", by code points.
      ('the collation of', attcollation not in (0, 950))) as one(word, is_there) where is_there
  union all select case when text ~ '^(''([^'']|'''')*''|[(]?-?[0-9.]+[)]?|true|false)(::[a-z_ ".]+)*$' then 'constant' else 'property' end, own.name, 'default ' || text || ' of column ' || attname, attname::text
    from own join pg_attribute a on attrelid = own.oid and attgenerated = '' join pg_attrdef on adrelid = own.oid and adnum = attnum cross join lateral pg_get_expr(adbin, adrelid) as text
  union all select 'property', own.name, word || ' table ' || own.name, '' from own
    cross join lateral (values ('the comment on', obj_description(oid, 'pg_class') is not null), ('a grant on', relacl is not null),
      ('a setting of', reloptions is not null), ('row level security of', relrowsecurity)) as one(word, is_there) where is_there
  union all select 'property', own.name, word || ' index ' || c.relname, part from own join pg_index on indrelid = own.oid join pg_class c on c.oid = indexrelid
    cross join lateral (values ('the comment on', obj_description(c.oid, 'pg_class') is not null), ('a setting of', c.reloptions is not null),
      ('the order of the table by', indisclustered)) as one(word, is_there)
    cross join lateral (select c.relname::text union all select attname::text from pg_attribute where attrelid = indrelid and attnum = any (indkey)) as of(part) where is_there
  union all select distinct 'reader', "table", name, "column" from reader where name is not null
  -- The triggers of a history name the schema.
  union all select 'recording', own.name, '', '' from own join pg_trigger on tgrelid = own.oid join pg_proc p on p.oid = tgfoid
    where tgenabled in ('O', 'A') and tgname ~ '^~?_records_log' and strpos(prosrc, quote_ident(current_schema()) || '._records_log') > 0
    group by own.name having bit_or(tgtype & 28) = 28
