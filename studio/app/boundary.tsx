/** Parts that are loaded when they are first needed, and the boundary that keeps a fault of one part from the others. */
import { Alert, Button, Dialog } from '@mui/material';
import { Component, type ComponentType, lazy, type ReactNode, Suspense } from 'react';
import { useText } from '../texts/texts.ts';
import { HeldKeys } from './typed-ahead.ts';
import { Waiting } from './waiting.tsx';

const RETRY_MS = 500;

type Load<P> = () => Promise<{ readonly default: ComponentType<P> }>;

/** Loads a part once more if that fails: connections break, and come back. */
const retried =
  <P,>(load: Load<P>): Load<P> =>
  () =>
    load().catch(async () => {
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      return load();
    });

/** A page of its own. */
export function page<P extends object>(load: Load<P>): ComponentType<P> {
  const Page = lazy(retried(load));
  return (props: P) => (
    <Boundary>
      <Suspense
        fallback={
          <>
            <HeldKeys />
            <Waiting />
          </>
        }
      >
        <Page {...props} />
      </Suspense>
    </Boundary>
  );
}

/** A dialog, or another part that opens above the page. */
export function dialog<P extends object>(load: Load<P>): ComponentType<P> {
  const Part = lazy(retried(load));
  return (props: P) => (
    <Boundary isDialog>
      <Suspense fallback={<HeldKeys />}>
        <Part {...props} />
      </Suspense>
    </Boundary>
  );
}

interface BoundaryProps {
  readonly isDialog?: boolean;
  readonly children: ReactNode;
}

interface BoundaryState {
  readonly error: unknown;
}

class Boundary extends Component<BoundaryProps, BoundaryState> {
  override state: BoundaryState = { error: undefined };

  static getDerivedStateFromError(error: unknown): BoundaryState {
    return { error };
  }

  override render(): ReactNode {
    const { isDialog = false, children } = this.props;
    if (this.state.error === undefined) return children;
    return isDialog ? (
      <Dialog open aria-label="">
        <Failed />
      </Dialog>
    ) : (
      <Failed />
    );
  }
}

/** After a deployment, the scripts that an open tab knows are gone. What was typed into forms is kept. */
function Failed() {
  const say = useText();
  return (
    <Alert
      severity="warning"
      action={
        <Button color="inherit" size="small" onClick={() => location.reload()}>
          {say('app.reload')}
        </Button>
      }
    >
      {say('app.not_loaded')}
    </Alert>
  );
}
