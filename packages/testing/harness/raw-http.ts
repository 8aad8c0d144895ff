import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  /** Names in lower case. A header that came twice is joined as HTTP joins it. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Opens a connection to the service, for what no HTTP client would send. */
export async function openSocket(url: string, options: { allowHalfOpen?: boolean } = {}): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), ...options });
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  return socket;
}

/** Everything that arrives until the other side hangs up, in whatever way it does. */
export function readToEnd(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', () => undefined);
    socket.once('close', () => resolve(Buffer.concat(chunks).toString('utf8')));
  });
}

/** Sends the text as it stands and gives every answer up to the end of the connection. */
export async function sendRaw(url: string, text: string, form?: AnswerForm): Promise<RawAnswer[]> {
  const socket = await openSocket(url);
  const received = readToEnd(socket);
  socket.write(text);
  return parseAnswers(await received, form);
}

/** The same for what must get exactly one answer. */
export const sendRawOnce = async (url: string, text: string): Promise<RawAnswer> =>
  onlyAnswer(await sendRaw(url, text));

export function onlyAnswer(answers: readonly RawAnswer[]): RawAnswer {
  const [answer] = answers;
  if (answer === undefined || answers.length > 1) throw new Error(`${answers.length} answers instead of one`);
  return answer;
}

/** Lines of a request, ended as HTTP ends them. */
export const requestText = (...lines: readonly string[]): string => `${lines.join('\r\n')}\r\n\r\n`;

interface AnswerForm {
  /** Answers to HEAD say the length of a body that does not follow. */
  readonly bodyless?: boolean;
}

/** For answers that say their length, as all of the service's do. */
export function parseAnswers(text: string, { bodyless = false }: AnswerForm = {}): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    const headEnd = rest.indexOf('\r\n\r\n');
    if (headEnd < 0) throw new Error(`no end of headers in ${JSON.stringify(rest.toString())}`);
    const { status, headers } = parseHead(rest.subarray(0, headEnd).toString('latin1'));
    const bodyEnd = headEnd + 4 + (bodyless ? 0 : Number(headers['content-length'] ?? 0));
    answers.push({ status, headers, body: rest.subarray(headEnd + 4, bodyEnd).toString() });
    rest = rest.subarray(bodyEnd);
  }
  return answers;
}

function parseHead(head: string): Pick<RawAnswer, 'status' | 'headers'> {
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
  }
  return { status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]), headers };
}

/** The answers on a connection that stays open, as they come. */
export function answersOn(socket: Socket): (count: number) => Promise<RawAnswer[]> {
  let received = Buffer.alloc(0);
  let check: () => void = () => undefined;
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk]);
    check();
  });
  return (count) =>
    new Promise((resolve) => {
      check = () => {
        const end = endOfAnswers(received, count);
        if (end === undefined) return;
        const answers = parseAnswers(received.subarray(0, end).toString());
        received = received.subarray(end);
        check = () => undefined;
        resolve(answers);
      };
      check();
    });
}

/** Where so many whole answers end, once they are there. */
function endOfAnswers(bytes: Buffer, count: number): number | undefined {
  let end = 0;
  for (let n = 0; n < count; n += 1) {
    const headEnd = bytes.indexOf('\r\n\r\n', end);
    if (headEnd < 0) return undefined;
    const { headers } = parseHead(bytes.subarray(end, headEnd).toString('latin1'));
    end = headEnd + 4 + Number(headers['content-length'] ?? 0);
  }
  return end <= bytes.length ? end : undefined;
}
