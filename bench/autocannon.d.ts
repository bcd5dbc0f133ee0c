/** The part of autocannon that is used here. */
declare module 'autocannon' {
  namespace autocannon {
    interface Prepared {
      readonly method: string;
      readonly path: string;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
    interface Client {
      setRequests(requests: readonly Prepared[]): void;
    }
    interface Options {
      readonly url: string;
      readonly connections: number;
      readonly amount: number;
      /** Milliseconds between two looks at whether the end is reached. */
      readonly sampleInt: number;
      /** Seconds until an answer that does not come is an error. */
      readonly timeout: number;
      readonly setupClient: (client: Client) => void;
    }
    interface Result {
      readonly errors: number;
      readonly non2xx: number;
    }
    type OnResponse = (client: Client, status: number, bytes: number, milliseconds: number) => void;
    interface Run extends PromiseLike<Result> {
      on(event: 'response', listener: OnResponse): void;
    }
  }
  function autocannon(options: autocannon.Options): autocannon.Run;
  export = autocannon;
}
