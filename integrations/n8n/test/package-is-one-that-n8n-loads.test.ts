import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ICredentialType, Icon, INodeType } from 'n8n-workflow';
import { describe, expect, it } from 'vitest';

const FOLDER = fileURLToPath(new URL('../node/', import.meta.url));
const require = createRequire(import.meta.url);

interface Manifest {
  readonly name: string;
  readonly keywords: readonly string[];
  readonly dependencies?: object;
  readonly devDependencies: Record<string, string>;
  readonly n8n: { readonly credentials: readonly string[]; readonly nodes: readonly string[] };
}
const manifest: Manifest = JSON.parse(readFileSync(join(FOLDER, 'package.json'), 'utf8'));

/** What n8n does with a file that the manifest names: it makes the class that is named as the file is. */
function load<T>(file: string): T {
  const [className = ''] = basename(file).split('.');
  const classes: Record<string, new () => T> = require(join(FOLDER, file));
  const made = classes[className];
  if (!made) throw new Error(`${file} has no class ${className}`);
  return new made();
}

/** The icons of what a file of the build describes; they lie beside the sources and are copied when it is packed. */
function icons(file: string, icon: Icon | undefined): string[] {
  const paths = typeof icon === 'object' ? [icon.light, icon.dark] : [String(icon)];
  const folder = dirname(join(FOLDER, file.replace(/^dist\//, '')));
  return paths.map((path) => join(folder, path.replace(/^file:/, '')));
}

const credentials = manifest.n8n.credentials.map((file) => ({ file, it: load<ICredentialType>(file) }));
const nodes = manifest.n8n.nodes.map((file) => ({ file, it: load<INodeType>(file) }));

describe('the package of the node', () => {
  it('is found by n8n and brings nothing along', () => {
    expect(manifest.name).toMatch(/^n8n-nodes-/);
    expect(manifest.keywords).toContain('n8n-community-node-package');
    expect(manifest.dependencies).toBeUndefined();
  });

  it('finds the folders that it is built with', () => {
    const folders = Object.values(manifest.devDependencies).filter((version) => version.startsWith('file:'));
    expect(folders).toHaveLength(1);
    for (const folder of folders)
      expect(existsSync(join(FOLDER, folder.replace('file:', ''), 'package.json'))).toBe(true);
  });

  it('holds what it names, with icons', () => {
    const wanted = [
      ...credentials.flatMap(({ file, it }) => icons(file, it.icon as Icon)),
      ...nodes.flatMap(({ file, it }) => icons(file, it.description.icon as Icon)),
    ];
    expect(wanted).toHaveLength(6);
    expect(wanted.filter((path) => !existsSync(path))).toEqual([]);
  });

  it('has a trigger that polls', () => {
    const [{ it: trigger } = {}] = nodes;
    expect(trigger?.description).toMatchObject({ polling: true, group: ['trigger'], inputs: [] });
    expect(trigger?.poll).toBeTypeOf('function');
  });

  it('has a trigger that holds a connection, without poll times', () => {
    const [, { it: trigger } = {}] = nodes;
    expect(trigger?.description).toMatchObject({ group: ['trigger'], inputs: [] });
    expect(trigger?.description.polling).toBeUndefined();
    expect(trigger?.poll).toBeUndefined();
    expect(trigger?.trigger).toBeTypeOf('function');
  });

  it.each(nodes)('$file uses the credential of the package', ({ it: trigger }) => {
    const wanted = trigger.description.credentials?.map(({ name }) => name);
    expect(wanted).toEqual(credentials.map(({ it }) => it.name));
  });

  it('has a codex file for each node, under its full name', () => {
    for (const { file, it } of nodes) {
      const codex = JSON.parse(readFileSync(join(FOLDER, file.replace(/\.js$/, '.json')), 'utf8'));
      expect(codex.node).toBe(`${manifest.name}.${it.description.name}`);
      expect(codex.resources.primaryDocumentation[0].url).toMatch(/^https:/);
    }
  });
});
