/** The address of a client: the peer of the connection or, behind trusted proxies, the address that they forward. */
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

export type AddressOf = (request: IncomingMessage) => string;

/** Each proxy appends the address that it was asked from: the last one that is not a trusted proxy is the client. */
export function createAddressOf(trustedProxies: readonly string[]): AddressOf {
  const peerOf: AddressOf = ({ socket }) => plain(socket.remoteAddress ?? '');
  if (trustedProxies.length === 0) return peerOf;
  const trusted = new BlockList();
  for (const network of trustedProxies) {
    const [address = '', length] = network.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (length === undefined) trusted.addAddress(address, family);
    else trusted.addSubnet(address, Number(length), family);
  }
  const isTrusted = (address: string): boolean => trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  return (request) => {
    let client = peerOf(request);
    const forwarded = String(request.headers['x-forwarded-for'] ?? '').split(',');
    while (isIP(client) > 0 && isTrusted(client)) {
      const before = addressIn(forwarded.pop() ?? '');
      // Nothing more is known, or the proxy passed on what is no address.
      if (before === undefined) break;
      client = before;
    }
    return client;
  };
}

/** Some proxies add the port. */
function addressIn(text: string): string | undefined {
  const [, bracketed, dotted] = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$/.exec(text.trim()) ?? [];
  const address = plain(bracketed ?? dotted ?? text.trim());
  return isIP(address) > 0 ? address : undefined;
}

/** An address of version 4 has this form where the service listens on both versions. */
const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '');

/** The key that a client is counted by: its IPv4 address, or the /64 network of its IPv6 address. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = '', tail] = address.replace(/%.*$/, '').split('::');
  const [before, after] = [head, tail ?? ''].map((part) => (part === '' ? [] : part.split(':')));
  const zeros = tail === undefined ? [] : Array<string>(8).fill('0');
  const groups = [...(before ?? []), ...zeros.slice((before?.length ?? 0) + (after?.length ?? 0)), ...(after ?? [])];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
