/** The web console: files that the build of `packages/console` leaves in `dist/console`, served from memory. */
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HOOKS_HEADER } from '@leadtap/contract';
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify';
import { entityTag } from '../leads/render.ts';
import { redirect, relativeUrl, sendUnlessCached } from './docs.ts';
import { rejectOtherMethods } from './methods.ts';
import { ProblemError } from './problems.ts';

const FOLDER = fileURLToPath(new URL('../../dist/console/', import.meta.url));
const PAGE = 'index.html';

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

const PAGE_HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'referrer-policy': 'no-referrer',
  // The page names the files of this version.
  'cache-control': 'no-cache',
} as const;

/** The names of the other files contain a hash of their content. */
const FILE_HEADERS = { 'cache-control': 'public, max-age=31536000, immutable' } as const;

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
export const consoleRoutes: FastifyPluginCallback<ConsoleOptions> = (app, { hasHooks }, done) => {
  filesInMemory ??= readFiles();
  const files = filesInMemory;
  const page = files.get(PAGE);
  if (!page) throw new Error(`The console is not built: ${FOLDER} has no ${PAGE}. Run \`npm run build\`.`);

  app.addHook('onRequest', rejectOtherMethods);
  app.all('/', (request, reply) => {
    // Its URLs are relative, so it must be requested with a slash at the end.
    const slash = relativeUrl(request.url, '');
    if (slash !== '') return redirect(reply, slash);
    reply.headers({ ...PAGE_HEADERS, ...(hasHooks && { [HOOKS_HEADER]: 'on' }) });
    return send(request, reply, page);
  });
  app.all<{ Params: { '*': string } }>('/console/*', (request, reply) => {
    const file = files.get(`console/${request.params['*']}`);
    if (!file) throw new ProblemError('no-such-resource');
    reply.headers(FILE_HEADERS);
    return send(request, reply, file);
  });
  done();
};

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

function send(request: FastifyRequest, reply: FastifyReply, file: ConsoleFile): FastifyReply {
  const accepted = request.headers['accept-encoding'];
  const { encoding, body, etag } =
    file.compressed.find((variant) => accepts(accepted, variant.encoding)) ?? file.plain;
  reply.headers({ etag, vary: 'Accept-Encoding', 'x-content-type-options': 'nosniff' }).type(file.type);
  if (encoding !== '') reply.header('content-encoding', encoding);
  return sendUnlessCached(request, reply, { etag, body });
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
