/** Times and quantities as people read them, in English and UTC. */

const UNITS = [
  { name: 'day', plural: 'days', seconds: 86_400 },
  { name: 'h', plural: 'h', seconds: 3600 },
  { name: 'min', plural: 'min', seconds: 60 },
  { name: 's', plural: 's', seconds: 1 },
] as const;

/** The two largest units: `45 s`, `2 min`, `3 h 20 min`, `4 days 1 h`. Seconds only below ten minutes. */
export function formatDuration(seconds: number): string {
  const resolution = seconds >= 86_400 ? 3600 : seconds >= 600 ? 60 : 1;
  let rest = Math.max(0, Math.round(seconds / resolution) * resolution);
  const parts: string[] = [];
  for (const unit of UNITS) {
    const count = Math.floor(rest / unit.seconds);
    rest -= count * unit.seconds;
    if (count > 0) parts.push(plural(count, unit.name, unit.plural));
  }
  return parts.slice(0, 2).join(' ') || '0 s';
}

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function formatBytes(bytes: number): string {
  const exponent = bytes < 1 ? 0 : Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** exponent;
  return `${value < 10 && exponent > 0 ? value.toFixed(1) : Math.round(value)} ${BYTE_UNITS[exponent]}`;
}

/** `1 lead`, `2 leads`; `one` and `many` may go on: `token was`. */
export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;
