/** The addresses of the studio. Records and forms are loaded when they are first needed. */
import { ResourceContextProvider } from 'ra-core';
import { Navigate, Route, Routes, useParams } from 'react-router-dom';
import { Heading } from './heading.tsx';
import { can, listedTypes, newWord, type TypeInfo, useModel } from '../data/model.ts';
import { useText } from '../texts/texts.ts';
import { Frame } from './frame.tsx';
import { page } from './boundary.tsx';
import { Home } from './home.tsx';
import ListPage from '../lists/list-page.tsx';

const FormPage = page(() => import('../forms/form-page.tsx'));
const RecordPage = page(() => import('../records/record-page.tsx'));

/** The routes. A new page gets a route below a type, never where an identifier could stand. */
export function Pages({ title, onLeave }: { readonly title: string; readonly onLeave: () => void }) {
  return (
    <Frame title={title} onLeave={onLeave}>
      <Routes>
        <Route path="/" element={<Home />} />
        <Route path="/:path" element={<OfType shows={(type) => can(type, 'list') && <ListPage type={type} />} />} />
        <Route
          path="/:path/:id/edit"
          element={<OfType shows={(type, id) => can(type, 'update') && <FormPage type={type} id={id} />} />}
        />
        <Route
          path="/:path/:id"
          element={
            <OfType
              shows={(type, id) =>
                id === newWord(type)
                  ? can(type, 'create') && <FormPage type={type} />
                  : can(type, 'get') && <RecordPage type={type} id={id} />
              }
            />
          }
        />
        <Route path="*" element={<Nothing />} />
      </Routes>
    </Frame>
  );
}

interface OfTypeProps {
  readonly shows: (type: TypeInfo, id: string) => React.ReactElement | false;
}

/** The page at an address below a type; "not found" if there is no such type or page. */
function OfType({ shows }: OfTypeProps) {
  const { path = '', id = '' } = useParams();
  const model = useModel();
  const type = [...model.types.values()].find((one) => one.path === path);
  const shown = type !== undefined && shows(type, id);
  if (type === undefined || shown === false) return <Nothing />;
  // Nothing of one type or record is kept for the next.
  return (
    <ResourceContextProvider value={type.path} key={`${path}/${id}`}>
      {shown}
    </ResourceContextProvider>
  );
}

function Nothing() {
  const say = useText();
  const model = useModel();
  const [only, ...others] = listedTypes(model);
  if (only !== undefined && others.length === 0) return <Navigate to={`/${only.path}`} replace />;
  return <Heading text={say('app.not_found')} />;
}
