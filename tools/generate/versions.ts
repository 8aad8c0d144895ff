/** The version and the repository of the project are written once, in the `package.json` of the root. This writes them everywhere else. */
import { PLATFORM_PACKAGES } from '@leadtap/contract';

interface Manifest {
  readonly name: string;
  readonly version?: string;
  readonly repository?: unknown;
  readonly [field: string]: unknown;
}

export interface Project {
  readonly version: string;
  /** Such as `https://github.com/leadtap/leadtap`; npm shows it, and compares it with where a package was built. */
  readonly repository?: string;
  readonly workspaces: readonly string[];
}

export const packageFolders = ({ workspaces }: Project): readonly string[] => [
  ...workspaces,
  // No workspaces, because the tools of their platform are large.
  ...PLATFORM_PACKAGES,
];

/** Texts that name the version: names of packed files, images, and the source of Pipedream. */
export const TEXTS_WITH_VERSION = [
  'deploy/kubernetes/deployment.yaml',
  'deploy/kubernetes/migrate.yaml',
  'docs/integrations/activepieces.md',
  'docs/integrations/n8n.md',
  'docs/integrations/your-own-program.md',
  'integrations/n8n/node/README.md',
  'integrations/pipedream/new-lead.mjs',
  'packages/client/README.md',
];

const NUMBER = /\d+\.\d+\.\d+(?:-[\w.]+)?/.source;
/** What stands directly before and after a version of Leadtap. */
const MENTION = new RegExp(`(leadtap[\\w-]*?-|leadtap:|\\bversion: ['\`])${NUMBER}(?=\\.tgz|['\`\\s])`, 'g');

export const textWithVersion = (text: string, { version }: Project): string =>
  text.replaceAll(MENTION, `$1${version}`);

const isOurs = (name: string): boolean =>
  name === 'leadtap' || name === 'n8n-nodes-leadtap' || name.startsWith('@leadtap/');

const toManifest = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** With the same version for the packages that it needs. `file:` names a folder, which has every version. */
function withOwnVersions(manifest: Manifest, version: string): Manifest {
  const entries = Object.entries(manifest).map(([field, value]) => {
    if (!/^(dev|peer)?dependencies$/i.test(field)) return [field, value];
    const dependencies = Object.entries(Object(value)).map(([name, range]) => [
      name,
      isOurs(name) && !String(range).startsWith('file:') ? version : range,
    ]);
    return [field, Object.fromEntries(dependencies)];
  });
  return { ...Object.fromEntries(entries), version };
}

/** `package.json` of the package in a folder. */
export function manifestText(text: string, folder: string, { version, repository }: Project): string {
  const { repository: _, ...manifest } = withOwnVersions(JSON.parse(text), version);
  if (repository === undefined) return toManifest(manifest);
  return toManifest({
    ...manifest,
    repository: { type: 'git', url: `git+${repository}.git`, directory: folder },
  });
}

/** `package-lock.json`. */
export function lockText(text: string, project: Project): string {
  const { version } = project;
  const lock: { version: string; packages: Record<string, Manifest> } = JSON.parse(text);
  const entries = Object.entries(lock.packages).map(([path, entry]) => {
    if (path === '') return [path, { ...entry, version }];
    return [path, project.workspaces.includes(path) ? withOwnVersions(entry, version) : entry];
  });
  return toManifest({ ...lock, version, packages: Object.fromEntries(entries) });
}
