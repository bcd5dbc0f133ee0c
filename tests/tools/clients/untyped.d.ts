/** As much of two clients as their tests use: they bring no types of their own. */
declare module 'swagger-client' {
  export default function connect(options: { readonly url: string; readonly userFetch: typeof fetch }): Promise<never>;
}

declare module 'newman' {
  interface Exchange {
    readonly request: { readonly method: string; readonly url: { getPathWithQuery(): string } };
    readonly response: {
      readonly code: number;
      readonly headers: { get(name: string): string | undefined };
      text(): string;
    };
  }
  interface Run {
    on(event: 'request', listener: (error: Error | null, exchange: Exchange) => void): Run;
    on(event: 'done', listener: (error: Error | null) => void): Run;
  }
  interface Options {
    readonly collection: object;
    readonly envVar: readonly { readonly key: string; readonly value: string }[];
  }
  export function run(options: Options): Run;
}
