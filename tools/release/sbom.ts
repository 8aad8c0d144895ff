/**
 * What an installation of `leadtap` consists of, from the lock file, in the format of CycloneDX. `npm sbom --workspace` leaves
 * out packages that the root of the repository needs, too: with npm 11.19 these are 22 of 88, SQLite among them.
 */
import { posix } from 'node:path';

export interface LockEntry {
  readonly name?: string;
  readonly version: string;
  readonly license?: string;
  readonly integrity?: string;
  /** A workspace: `resolved` is its folder. */
  readonly link?: boolean;
  readonly resolved?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/** By path; the path of the root is empty. */
export type LockPackages = Readonly<Record<string, LockEntry>>;

export interface RuntimePackage extends LockEntry {
  readonly name: string;
  /** The packages that it needs, by path. */
  readonly needs: readonly string[];
}

/** As Node does: in the own folder, then in each one above it. */
function resolve(packages: LockPackages, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = posix.dirname(folder)) {
    const path = posix.join(folder, 'node_modules', name);
    const entry = packages[path];
    if (entry !== undefined) return entry.link ? entry.resolved : path;
    if (folder === '.') return undefined;
  }
}

function namesOf({ dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta }: LockEntry) {
  const peers = Object.keys(peerDependencies ?? {}).filter((name) => !peerDependenciesMeta?.[name]?.optional);
  return [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers];
}

/** The package in the folder and all that it needs at run time, by path. */
export function runtimePackages(packages: LockPackages, folder: string): ReadonlyMap<string, RuntimePackage> {
  const found = new Map<string, RuntimePackage>();
  const visit = (path: string) => {
    const entry = packages[path];
    if (entry === undefined || found.has(path)) return;
    const needs = namesOf(entry).flatMap((name) => resolve(packages, path, name) ?? []);
    const name = entry.name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    found.set(path, { ...entry, name, needs });
    for (const next of needs) visit(next);
  };
  visit(folder);
  return found;
}

const purlOf = ({ name, version }: RuntimePackage): string =>
  `pkg:npm/${name.replace('@', '%40')}@${version}`;

const licencesOf = (license: string) =>
  /[ ()]/.test(license) ? [{ expression: license }] : [{ license: { id: license } }];

function component(entry: RuntimePackage, type: 'application' | 'library') {
  const { name, version, license, integrity } = entry;
  const [algorithm, digest] = integrity?.split('-') ?? [];
  return {
    type,
    'bom-ref': purlOf(entry),
    name,
    version,
    ...(license === undefined ? {} : { licenses: licencesOf(license) }),
    purl: purlOf(entry),
    ...(algorithm === 'sha512' && digest !== undefined
      ? { hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }] }
      : {}),
  };
}

/** Without a serial number, so that two builds of a commit are equal. */
export function cycloneDx(packages: LockPackages, folder: string, timestamp: string) {
  const found = runtimePackages(packages, folder);
  const main = found.get(folder);
  if (main === undefined) throw new Error(`package-lock.json has no ${folder}. Run \`npm install\`.`);
  // A package may be installed in several folders.
  const byPurl = new Map([...found.values()].map((entry) => [purlOf(entry), entry]));
  const entries = [...byPurl.values()].sort((a, b) => (purlOf(a) < purlOf(b) ? -1 : 1));
  const refsOf = ({ needs }: RuntimePackage) =>
    needs
      .flatMap((path) => found.get(path) ?? [])
      .map(purlOf)
      .sort();
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { timestamp, component: component(main, 'application') },
    components: entries.filter((entry) => entry !== main).map((entry) => component(entry, 'library')),
    dependencies: entries.map((entry) => ({ ref: purlOf(entry), dependsOn: refsOf(entry) })),
  };
}
