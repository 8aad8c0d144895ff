/** The web console: files that the build of `packages/console` leaves in `dist/console`, served from memory. */
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HOOKS_HEADER } from '@leadtap/contract';
import { entityTag } from '../leads/render.ts';
import { relativeUrl } from './docs.ts';
import { type OpenEndpoint, READ_METHODS } from './endpoint.ts';
import { cachedPayload, type Exchange, type Payload, redirect } from './exchange.ts';
import type { HeaderList } from './headers.ts';

const FOLDER = fileURLToPath(new URL('../../dist/console/', import.meta.url));
const PAGE = 'index.html';
/** Of the operator, for the private address only. */
const STATUS_PAGE = 'status.html';

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.tgz': 'application/gzip',
  // Files to download, not to run.
  '.mjs': 'text/plain; charset=utf-8',
  '.rb': 'text/plain; charset=utf-8',
};

/** In the order of preference. */
const ENCODINGS = [
  { encoding: 'br', suffix: '.br' },
  { encoding: 'gzip', suffix: '.gz' },
] as const;

/** Each page loads its own style, script and JSON. */
const policyOf = (images: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    `img-src ${images}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');

const PAGE_HEADERS: HeaderList = [
  'content-security-policy',
  policyOf("'self' data:"),
  'referrer-policy',
  'no-referrer',
  // The page names the files of this version.
  'cache-control',
  'no-cache',
];

const STATUS_PAGE_HEADERS: HeaderList = [
  'content-security-policy',
  policyOf('data:'),
  'referrer-policy',
  'no-referrer',
  'cache-control',
  'no-store',
];

/** The names of the other files contain a hash of their content. */
const FILE_HEADERS: HeaderList = ['cache-control', 'public, max-age=31536000, immutable'];

interface Variant {
  /** Empty: not compressed. */
  readonly encoding: string;
  readonly body: Buffer;
  readonly etag: string;
}

interface ConsoleFile {
  readonly type: string;
  readonly plain: Variant;
  readonly compressed: readonly Variant[];
}

let filesInMemory: ReadonlyMap<string, ConsoleFile> | undefined;

interface ConsoleOptions {
  /** Whether the service sends webhooks. */
  readonly hasHooks?: boolean;
}

/** `/`, and the files below `/console/` that it names. */
export function consoleEndpoints({ hasHooks }: ConsoleOptions = {}): OpenEndpoint[] {
  const { [PAGE]: _, [STATUS_PAGE]: __, ...files } = Object.fromEntries(readFilesOnce());
  const page = fileOf(PAGE);
  const methods = READ_METHODS;
  const pageHeaders = [...PAGE_HEADERS, ...(hasHooks ? [HOOKS_HEADER, 'on'] : [])];
  return [
    // The URLs of the page are relative, so it must be requested with a slash at the end.
    {
      path: '',
      methods,
      answer: (exchange) => redirect(exchange, relativeUrl(exchange.request.url)),
    },
    { path: '/', methods, answer: (exchange) => filePayload(exchange, page, pageHeaders) },
    ...Object.entries(files).map(
      ([name, file]): OpenEndpoint => ({
        path: `/${name}`,
        methods,
        answer: (exchange) => filePayload(exchange, file, FILE_HEADERS),
      }),
    ),
  ];
}

/** The page `/status`, and the files below `/console/` that it names. The address is private: its endpoints add checks. */
export function statusPageFiles(): Pick<OpenEndpoint, 'path' | 'answer'>[] {
  const page = fileOf(STATUS_PAGE);
  const names = [...String(page.plain.body).matchAll(/"\.\/(console\/[^"]+)"/g)].map(([, name = '']) => name);
  return [
    { path: '/status', answer: (exchange) => filePayload(exchange, page, STATUS_PAGE_HEADERS) },
    ...names.map((name) => ({
      path: `/${name}`,
      answer: (exchange: Exchange) => filePayload(exchange, fileOf(name), FILE_HEADERS),
    })),
  ];
}

function fileOf(name: string): ConsoleFile {
  const file = readFilesOnce().get(name);
  if (!file) throw new Error(`The console is not built: ${FOLDER} has no ${name}. Run \`npm run build\`.`);
  return file;
}

function readFilesOnce(): ReadonlyMap<string, ConsoleFile> {
  filesInMemory ??= readFiles();
  return filesInMemory;
}

function readFiles(): Map<string, ConsoleFile> {
  const names = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).map((name) =>
    name.replaceAll('\\', '/'),
  );
  const files = names.flatMap((name): [string, ConsoleFile][] => {
    const type = MEDIA_TYPES[extname(name)];
    if (type === undefined) return [];
    const compressed = ENCODINGS.map(({ encoding, suffix }) => readVariant(`${name}${suffix}`, encoding));
    return [[name, { type, plain: readVariant(name, ''), compressed }]];
  });
  return new Map(files);
}

function readVariant(name: string, encoding: string): Variant {
  const body = readFileSync(`${FOLDER}${name}`);
  return { encoding, body, etag: entityTag(body) };
}

function filePayload(exchange: Exchange, file: ConsoleFile, headers: HeaderList): Payload {
  const accepted = exchange.request.headers['accept-encoding'];
  const { encoding, body, etag } =
    file.compressed.find((variant) => accepts(accepted, variant.encoding)) ?? file.plain;
  exchange.headers.push(...headers, 'vary', 'Accept-Encoding');
  if (encoding !== '') exchange.headers.push('content-encoding', encoding);
  return cachedPayload(exchange, { mediaType: file.type, etag, body });
}

/** Whether an Accept-Encoding header names the encoding, and not with `q=0`. */
function accepts(header: string | string[] | undefined, encoding: string): boolean {
  const entries = String(header ?? '')
    .toLowerCase()
    .split(',');
  return entries.some((entry) => {
    const [name = '', ...parameters] = entry.split(';').map((part) => part.trim());
    return name === encoding && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
  });
}
