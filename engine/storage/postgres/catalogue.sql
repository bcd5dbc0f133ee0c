-- Schema objects. Dropping a column drops its constraints and indexes; those of others block a step.
with own as (
    select oid, relname::text as name, relnatts from pg_class where relnamespace = quote_ident(current_schema())::regnamespace and relkind in ('r', 'p')
  ), reader as (
    select own.name as "table", coalesce(attname::text, '') as "column", case classid
      when 'pg_rewrite'::regclass then (select 'view ' || c.relname from pg_rewrite r join pg_class c on c.oid = r.ev_class where r.oid = objid)
      when 'pg_class'::regclass then (select case when relkind in ('r', 'f') then 'table ' else 'index ' end || relname from pg_class c where c.oid = objid)
      when 'pg_constraint'::regclass then (select case when conrelid = refobjid then 'constraint ' || conname else format('foreign key %s of table "%s"', conname, c.relname) end
        from pg_constraint t join pg_class c on c.oid = conrelid where t.oid = objid and t.contype in ('c', 'f', 'u', 'x') and not ({OWN_CHECK}))
      else pg_describe_object(classid, objid, objsubid) end as name
    from pg_depend join own on refclassid = 'pg_class'::regclass and refobjid = own.oid
      left join pg_attribute on attrelid = refobjid and attnum = refobjsubid and refobjsubid > 0
    where deptype = 'n' or deptype = 'a' and refobjsubid > 0 and classid in ('pg_class'::regclass, 'pg_constraint'::regclass)
    union all select own.name, i.relname::text, case when conrelid = confrelid then 'constraint ' || conname else format('foreign key %s of table "%s"', conname, c.relname) end
    from pg_constraint t join own on own.oid = confrelid join pg_class i on i.oid = conindid join pg_class c on c.oid = conrelid where contype = 'f'
    union all select own.name, attname::text, 'table ' || c.relname
    from pg_inherits join own on own.oid = inhparent join pg_class c on c.oid = inhrelid and not relispartition join pg_attribute on attrelid = own.oid and attnum > 0 and not attisdropped
  )
  select 'relation', '', relname::text, case relkind when 'r' then 'table' when 'p' then 'table' when 'v' then 'view' when 'm' then 'materialized view'
    when 'i' then 'index' when 'I' then 'index' when 'S' then 'sequence' when 'f' then 'foreign table' else 'type' end
    from pg_class where relnamespace = quote_ident(current_schema())::regnamespace
  union all select 'relation', '', typname::text, 'type' from pg_type
    where typnamespace = quote_ident(current_schema())::regnamespace and typrelid = 0 and typcategory <> 'A'
  union all select case when attnotnull and not atthasdef and attidentity = '' then 'needed' else 'column' end, own.name, attname::text, ''
    from own join pg_attribute on attrelid = own.oid and attnum > 0 and not attisdropped
  union all select 'notNull', own.name, attname::text, '' from own join pg_attribute on attrelid = own.oid and attnum > 0 and attnotnull
  union all select 'denied', case when has_schema_privilege(current_schema(), 'create') then null else '' end, current_schema()::text, ''
  union all select 'denied', own.name, own.name, '' from own join pg_class c on c.oid = own.oid where not pg_has_role(c.relowner, 'usage')
  union all select 'index', own.name, relname::text, '' from own join pg_index on indrelid = own.oid join pg_class c on c.oid = indexrelid
    where indisvalid and not indisprimary
  union all select 'trigger', own.name, tgname::text, case when tgenabled = 'D' then '' else concat_ws(' ', case when tgtype & 4 > 0 then 'insert' end, case when tgtype & 16 > 0 and cardinality(tgattr::int2[]) = 0 then 'update' end) end
    from own join pg_trigger on tgrelid = own.oid and not tgisinternal
  union all select distinct 'reader', "table", name, "column" from reader where name is not null
