/** The server that openapi-mcp-generator wrote, used by its tools: an agent sees no headers, so no tags. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

interface ToolsOutcome {
  readonly created: number;
  readonly filtered: readonly (number | null)[];
  readonly nested: unknown;
  readonly updated: number;
  readonly deleted: number;
  readonly gone: number;
}

interface Record {
  readonly id: number;
  readonly position: number | null;
  readonly zone?: { readonly zone_name: string };
}

interface Told {
  readonly status: number;
  readonly body: unknown;
}

/** `API Response (Status: 200):` or `API Error: Status 404`, and the body. */
const SAID = /Status:? (\d+)[^\n]*?\)?[:.]?\s*(?:\n|$)?([\s\S]*)/;

export async function useGeneratedTools(program: string): Promise<ToolsOutcome> {
  const child = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'ignore'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let messages = 0;
  const ask = async (method: string, params: object): Promise<{ readonly content: readonly { text: string }[] }> => {
    messages += 1;
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: messages, method, params })}\n`);
    const { value } = await lines.next();
    return JSON.parse(String(value)).result;
  };
  const use = async (name: string, given: object): Promise<Told> => {
    const { content } = await ask('tools/call', { name, arguments: given });
    const [, status = '0', text = ''] = SAID.exec(content[0]?.text ?? '') ?? [];
    return { status: Number(status), body: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text };
  };
  try {
    const clientInfo = { name: 'test', version: '1.0.0' };
    await ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`);
    const created = await use('createTaxClass', { requestBody: { position: 2 } });
    const filtered = await use('listTaxClasses', { '_cnd[position]': 2 });
    const nested = await use('createShippingMarkup', { requestBody: { zone: { zone_name: 'Europe' } } });
    const { id } = (filtered.body as readonly Record[])[0] ?? { id: 0 };
    const updated = await use('updateTaxClass', { id, requestBody: { position: 7 } });
    const deleted = await use('deleteTaxClass', { id });
    const gone = await use('getTaxClass', { id });
    return {
      created: created.status,
      filtered: (filtered.body as readonly Record[]).map(({ position }) => position),
      nested: (nested.body as Record).zone?.zone_name,
      updated: updated.status,
      deleted: deleted.status,
      gone: gone.status,
    };
  } finally {
    child.kill();
  }
}
