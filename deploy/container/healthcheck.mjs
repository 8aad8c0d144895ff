// Exits with 0 if the service in this container answers /livez. The image has Node, but no curl.
import process from 'node:process';

const { LEADTAP_PORT, LEADTAP_BASE_PATH } = process.env;
const basePath = LEADTAP_BASE_PATH?.trim().replace(/(?<!\/)\/+$/, '') ?? '';
const livez = `http://127.0.0.1:${LEADTAP_PORT?.trim() || 3000}${basePath}/livez`;

const isAlive = await fetch(livez, { signal: AbortSignal.timeout(4000) }).then(
  ({ ok }) => ok,
  () => false,
);
process.exitCode = isAlive ? 0 : 1;
