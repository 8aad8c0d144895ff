import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';

const A = 1;
const AAAA = 28;
const HEADER_BYTES = 12;

export interface NameServer {
  /** Address and port, as a resolver takes them. */
  readonly address: string;
  /** The names of the questions, one for each type of record. */
  readonly questions: string[];
  close(): Promise<void>;
}

/** A DNS server on 127.0.0.1. A name without addresses is not answered at all. */
export async function startNameServer(
  addressesOf: (name: string) => readonly string[] | undefined,
): Promise<NameServer> {
  const socket = createSocket('udp4');
  const questions: string[] = [];
  socket.on('message', (message, { port, address }) => {
    const { name, type, end } = readQuestion(message);
    questions.push(name);
    const addresses = addressesOf(name);
    if (addresses) socket.send(makeAnswer(message, type, end, addresses), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    questions,
    close: async () => void (await once(socket.close(), 'close')),
  };
}

function readQuestion(message: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = message.readUInt8(at); length > 0; length = message.readUInt8(at)) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: labels.join('.').toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 };
}

/** RFC 1035, section 4. */
function makeAnswer(message: Buffer, type: number, end: number, addresses: readonly string[]): Buffer {
  const records = addresses
    .filter((address) => type === (isIPv6(address) ? AAAA : A))
    .map((address) => {
      const data = isIPv6(address) ? bytesOfIPv6(address) : Buffer.from(address.split('.').map(Number));
      // A pointer to the name of the question, the type, the class IN, 60 s, and the length of the address.
      const record = Buffer.from([0xc0, HEADER_BYTES, 0, type, 0, 1, 0, 0, 0, 60, 0, data.length]);
      return Buffer.concat([record, data]);
    });
  const header = Buffer.from([0, 0, 0x81, 0x80, 0, 1, 0, records.length, 0, 0, 0, 0]);
  message.copy(header, 0, 0, 2);
  return Buffer.concat([header, message.subarray(HEADER_BYTES, end), ...records]);
}

/** Of the short form with `::`. */
function bytesOfIPv6(address: string): Buffer {
  const [before = [], after = []] = address.split('::').map((part) => part.split(':').filter(Boolean));
  const groups = [...before, ...Array(8 - before.length - after.length).fill('0'), ...after];
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex');
}
