/** Finds the endpoint of a request in the table. */
import { METHODS, type RequestListener } from 'node:http';
import {
  createHandler,
  type Endpoint,
  type HandlerOptions,
  type OpenEndpoint,
  type RequestHandler,
} from './endpoint.ts';
import { ProblemError } from './problems.ts';

/** The listener of all endpoints of a table. */
export function createRouter(endpoints: readonly Endpoint[], options: HandlerOptions): RequestListener {
  const { basePath = '' } = options;
  const handlers = new Map<string, RequestHandler>();
  for (const path of new Set(endpoints.map((row) => row.path))) {
    const rows = endpoints.filter((row) => row.path === path);
    handlers.set(`${basePath}${path}`, createHandler(`${basePath}${path}`, rows, options));
    if (basePath !== '' && rows.some((row) => row.isAlsoAtRoot))
      handlers.set(path, createHandler(path, rows, options));
  }
  const handleOther = createHandler(undefined, [otherPaths(handlers)], options);
  const findNormalized = (url: string): RequestHandler | undefined => {
    const path = normalizePath(url);
    return path === undefined ? undefined : (handlers.get(path) ?? handlers.get(withoutId(path)));
  };

  return (request, response) => {
    const { url = '' } = request;
    const mark = url.indexOf('?');
    const path = mark === -1 ? url : url.slice(0, mark);
    // Nearly all requests have the path as it is in the table.
    const handle = handlers.get(path) ?? findNormalized(url) ?? handleOther;
    handle(request, response);
  };
}

/** An endpoint that exists only with another setting. `detail` says what the operator has to change. */
export const switchedOff = (path: string, detail: string): OpenEndpoint => ({
  path,
  methods: METHODS,
  answer: () => {
    throw new ProblemError('no-such-resource', { detail });
  },
});

const otherPaths = (handlers: ReadonlyMap<string, unknown>): OpenEndpoint => ({
  path: '',
  methods: METHODS,
  answer: ({ request }) => {
    const path = normalizePath(request.url);
    if (path === undefined) throw new ProblemError('malformed-request');
    const withoutSlash = path.replace(/\/$/, '');
    if (!handlers.has(withoutSlash)) throw new ProblemError('no-such-resource');
    throw new ProblemError('no-such-resource', {
      detail: `Leave out the slash at the end of the address: \`${withoutSlash}\`.`,
    });
  },
});

/** The path of a target that may be a whole URL, with encoded letters decoded. Undefined if the encoding is invalid. */
function normalizePath(target = ''): string | undefined {
  const [path = ''] = target.replace(/^https?:\/\/[^/?]*/i, '').split('?', 1);
  try {
    return decodeURI(path);
  } catch {
    return undefined;
  }
}

const withoutId = (path: string): string => path.replace(/\/[^/]*$/, '/{id}');
