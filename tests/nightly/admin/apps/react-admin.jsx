/** An admin of every type, as the documentation of react-admin has it. The page says which provider, and where the service is. */
import {
  Admin,
  Create,
  Datagrid,
  Edit,
  List,
  Pagination,
  Resource,
  SimpleForm,
  TextField,
  TextInput,
} from 'react-admin';
import jsonServer from 'ra-data-json-server';
import simpleRest from 'ra-data-simple-rest';
import { createRoot } from 'react-dom/client';
import types from '../types.json';

const { provider, url, keys } = Object.fromEntries(new URLSearchParams(location.search));
const PROVIDERS = { 'json-server': jsonServer, 'simple-rest': simpleRest };

const list = (field) => () => (
  <List
    filters={[<TextInput key={field} source={field} alwaysOn />]}
    perPage={2}
    sort={{ field: 'id', order: 'ASC' }}
    pagination={<Pagination rowsPerPageOptions={[2]} />}
  >
    <Datagrid rowClick="edit" bulkActionButtons={undefined}>
      <TextField source="id" />
      <TextField source={field} />
    </Datagrid>
  </List>
);

/** Texts are keys that clients bring. */
const form = (field, bringsKey) => (
  <SimpleForm>
    {bringsKey && <TextInput source="id" />}
    <TextInput source={field} />
  </SimpleForm>
);

const create = (field) => () => <Create redirect="list">{form(field, keys === 'string')}</Create>;
const edit = (field) => () => (
  <Edit mutationMode="pessimistic" redirect="list">
    {form(field, false)}
  </Edit>
);

createRoot(document.querySelector('#app')).render(
  <Admin dataProvider={PROVIDERS[provider](url)} disableTelemetry>
    {types.map(({ path, field, isSeeded }) => (
      <Resource
        key={path}
        name={path}
        list={list(field)}
        edit={edit(field)}
        {...(isSeeded ? {} : { create: create(field) })}
      />
    ))}
  </Admin>,
);
