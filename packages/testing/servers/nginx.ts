import { join } from 'node:path';
import { findOnPath, findProgram, type Program } from './find-program.ts';
import { PrivateServer } from './private-server.ts';

export interface NginxOptions {
  /** The address of the service behind it. */
  readonly upstream: string;
  /** Lines of `location /`, beside `proxy_pass`. Default: none, so that all settings are nginx's defaults. */
  readonly location?: readonly string[];
}

export interface NginxServer {
  readonly url: string;
  readonly port: number;
  remove(): Promise<void>;
}

export const NGINX: Program = {
  name: 'nginx',
  debian: 'nginx-light',
  homebrew: 'nginx',
  find: () => findOnPath('nginx'),
};

/** Where nginx would write into folders of the system. */
const TEMP_PATHS = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

/** An nginx of our own in front of a service. */
export async function startNginx({ upstream, location = [] }: NginxOptions): Promise<NginxServer> {
  const command = findProgram(NGINX);
  const server = await PrivateServer.create({ name: 'nginx', endSignal: 'SIGTERM' });
  const { folder, port } = server;
  const url = `http://127.0.0.1:${port}`;
  const file = server.write(
    'nginx.conf',
    `daemon off;
worker_processes 1;
pid ${join(folder, 'nginx.pid')};
events {}
http {
    access_log off;
    ${TEMP_PATHS.map((name) => `${name}_temp_path ${join(folder, name)};`).join('\n    ')}
    server {
        listen 127.0.0.1:${port};
        location / {
            proxy_pass ${upstream};
            ${location.join('\n            ')}
        }
    }
}
`,
  );
  try {
    await server.start({
      command,
      argv: ['-e', 'stderr', '-p', folder, '-c', file],
      ask: () => fetch(`${url}/livez`),
    });
  } catch (error) {
    await server.remove();
    throw error;
  }
  return { url, port, remove: () => server.remove() };
}
