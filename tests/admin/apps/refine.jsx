/** Lists and forms of every type with refine's hooks and its own provider for REST. The page says where the service is. */
import { Refine, useCreate, useDelete, useMany, useOne, useTable, useUpdate } from '@refinedev/core';
import dataProvider from '@refinedev/simple-rest';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';
import types from '../types.json';

const { url } = Object.fromEntries(new URLSearchParams(location.search));

function Records({ path, field }) {
  const { tableQuery, setCurrentPage, setSorters, setFilters, result } = useTable({
    resource: path,
    syncWithLocation: false,
    pagination: { pageSize: 2 },
    sorters: { initial: [{ field: 'id', order: 'asc' }] },
  });
  const [text, setText] = useState('');
  const [shown, show] = useState();
  const { mutate: create } = useCreate();
  const { mutate: update } = useUpdate();
  const { mutate: remove } = useDelete();
  const one = useOne({ resource: path, id: shown, queryOptions: { enabled: shown !== undefined } });
  const find = (filter) => {
    setCurrentPage(1);
    setFilters([filter], 'replace');
  };
  const removeRow = (id) => {
    // What is deleted is not shown any more.
    show();
    remove({ resource: path, id });
  };
  const rows = result?.data ?? [];
  const many = useMany({ resource: path, ids: rows.map(({ id }) => id), queryOptions: { enabled: rows.length > 0 } });
  return (
    <section>
      <p id="total">{tableQuery.isFetching ? '…' : `${result?.total}`}</p>
      <p id="many">{many.result?.data?.length}</p>
      <p id="one">{one.result?.[field]}</p>
      <input id="text" value={text} onChange={({ target }) => setText(target.value)} />
      <button onClick={() => create({ resource: path, values: { [field]: text } })}>Create</button>
      <button onClick={() => find({ field, operator: 'eq', value: text })}>Filter</button>
      <button onClick={() => find({ field, operator: 'contains', value: text })}>Contains</button>
      <button onClick={() => find({ field: 'id', operator: 'gte', value: text })}>From</button>
      <button
        onClick={() =>
          setSorters([
            { field, order: 'desc' },
            { field: 'id', order: 'asc' },
          ])
        }
      >
        Sort
      </button>
      <button onClick={() => setCurrentPage((page) => page + 1)}>Next</button>
      <ul>
        {rows.map((row) => (
          <li key={row.id}>
            <span>{row[field]}</span>
            <button onClick={() => show(row.id)}>Show</button>
            <button onClick={() => update({ resource: path, id: row.id, values: { [field]: text } })}>Change</button>
            <button onClick={() => removeRow(row.id)}>Delete</button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function App() {
  const [path, choose] = useState();
  const type = types.find((one) => one.path === path);
  return (
    <Refine dataProvider={dataProvider(url)} options={{ disableTelemetry: true, syncWithLocation: false }}>
      <nav>
        {types.map((one) => (
          <button key={one.path} onClick={() => choose(one.path)}>
            {one.path}
          </button>
        ))}
      </nav>
      {type && <Records key={path} {...type} />}
    </Refine>
  );
}

createRoot(document.querySelector('#app')).render(<App />);
