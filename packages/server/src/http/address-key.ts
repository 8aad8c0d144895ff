import { isIPv4, isIPv6 } from 'node:net';

/** Some proxies write the port beside the address; a sender has as many ports as it likes. */
const WITH_PORT = /^(?:(\d+\.\d+\.\d+\.\d+)|\[([^\]]*)\])(?::\d+)?$/;

/**
 * What counts as one sender. Whoever has an IPv6 address has 2^64 of them, so the network counts; an IPv4
 * address that is written in IPv6 is itself.
 */
export function addressKey(text: string): string {
  const [, v4, v6] = WITH_PORT.exec(text) ?? [];
  const [address = ''] = (v4 ?? v6 ?? text).split('%');
  if (!isIPv6(address)) return address;
  const groups = groupsOf(address);
  const [high = 0, low = 0] = groups.slice(6);
  if (groups.slice(0, 6).join() === '0,0,0,0,0,65535')
    return [high >> 8, high & 255, low >> 8, low & 255].join('.');
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

/** The eight numbers of an IPv6 address, however it is abbreviated. */
function groupsOf(address: string): number[] {
  const [head = [], tail = []] = address.split('::').map((half) => half.split(':').flatMap(numbersOf));
  const zeros = Array<number>(8 - head.length - tail.length).fill(0);
  return [...head, ...zeros, ...tail];
}

function numbersOf(group: string): number[] {
  if (group === '') return [];
  if (!isIPv4(group)) return [Number.parseInt(group, 16)];
  const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
  return [a * 256 + b, c * 256 + d];
}
