import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseYaml } from '@redocly/openapi-core';
import { describe, expect, test } from 'vitest';
import { copyOf, lastOf, ROOT, readDockerfile } from './support/dockerfile.ts';
import { isInContext } from './support/dockerignore.ts';
import { readCompose, readPod, readText } from './support/manifests.ts';

const exists = (path: string): boolean => existsSync(join(ROOT, path));
const { version }: { version: string } = JSON.parse(readText('packages/server/package.json'));

interface NetworkPolicy {
  readonly kind: string;
  readonly spec: {
    readonly podSelector: { readonly matchLabels: object };
    readonly policyTypes: readonly string[];
    readonly ingress: readonly {
      readonly from: unknown;
      readonly ports: readonly { readonly port: string }[];
    }[];
  };
}

interface Deployment {
  readonly spec: {
    readonly template: {
      readonly metadata: { readonly labels: object };
      readonly spec: {
        readonly containers: readonly { readonly ports: readonly { readonly name: string }[] }[];
      };
    };
  };
}

describe('Dockerfile', () => {
  const { build, image } = readDockerfile();
  const copied = build.instructions
    .filter(({ name }) => name === 'COPY')
    .flatMap((copy) => copyOf(copy).sources);

  test.each(copied)('%s exists and is in the build context', (path) => {
    expect(exists(path)).toBe(true);
    expect(isInContext(path)).toBe(true);
  });

  test('every package of the workspace is installed from its manifest', () => {
    const { workspaces }: { workspaces: string[] } = JSON.parse(readText('package.json'));
    expect(copied).toEqual(expect.arrayContaining(workspaces.map((folder) => `${folder}/package.json`)));
  });

  test.each([
    '.env',
    'packages/server/.env',
    'data/leadtap.db',
    'data/signing.key',
    '.git/config',
    'node_modules/x/y.js',
  ])('%s is not in the build context', (path) => expect(isInContext(path)).toBe(false));

  test.each([
    'packages/server/dist/index.js',
    'packages/server/tsconfig.tsbuildinfo',
    'packages/server/test/x.test.ts',
  ])('%s of this machine is not in the build context', (path) => expect(isInContext(path)).toBe(false));

  test('the image runs as a numeric user', () => {
    expect(lastOf(image, 'USER').text).toMatch(/^[1-9]\d*:[1-9]\d*$/);
  });
});

describe('compose.yaml', () => {
  const services = Object.entries(readCompose());
  const mounts = services
    .flatMap(([, { volumes = [] }]) => volumes)
    .filter((volume) => volume.startsWith('./'));

  test.each(mounts)('%s mounts an existing file', (mount) => {
    expect(exists(mount.split(':')[0] ?? '')).toBe(true);
    expect(mount).toMatch(/:ro$/);
  });

  test('only the load balancer is published, and only the instances are in both networks', () => {
    const published = services.filter(([, { ports }]) => ports !== undefined).map(([name]) => name);
    expect(published).toEqual(['balancer']);
    const bridges = services.filter(([, { networks }]) => networks.length > 1).map(([name]) => name);
    expect(bridges).toEqual(['leadtap']);
  });
});

describe('deploy/kubernetes', () => {
  test('its network policy is for the pods, and opens each port to one namespace only', () => {
    const { kind, spec } = parseYaml(readText('deploy/kubernetes/network-policy.yaml')) as NetworkPolicy;
    const deployment = parseYaml(readText('deploy/kubernetes/deployment.yaml')) as Deployment;
    expect(kind).toBe('NetworkPolicy');
    expect(spec.policyTypes).toEqual(['Ingress']);
    const { metadata, spec: pod } = deployment.spec.template;
    expect(spec.podSelector.matchLabels).toEqual(metadata.labels);
    const opened = spec.ingress.flatMap(({ ports }) => ports.map(({ port }) => port));
    expect(opened).toEqual(pod.containers.flatMap(({ ports }) => ports.map(({ name }) => name)));
    for (const { from } of spec.ingress)
      expect(from).toEqual([
        { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': expect.any(String) } } },
      ]);
  });

  test('the kustomization names existing files', () => {
    const { resources } = parseYaml(readText('deploy/kubernetes/kustomization.yaml')) as {
      resources: string[];
    };
    for (const file of resources) expect(exists(`deploy/kubernetes/${file}`)).toBe(true);
  });

  test.each(['deployment.yaml', 'migrate.yaml'])('%s runs this version without privileges', (file) => {
    const pod = readPod(file);
    expect(pod.containers[0].image).toBe(`leadtap:${version}`);
    expect(pod.enableServiceLinks).toBe(false);
    const [user, group] = lastOf(readDockerfile().image, 'USER').text.split(':').map(Number);
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: user, runAsGroup: group });
    expect(pod.containers[0].securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  });

  test('a pod without its database is not ready, but is not restarted', () => {
    const [{ livenessProbe, readinessProbe, ports }] = readPod('deployment.yaml').containers;
    expect(livenessProbe.httpGet).toEqual({ path: '/livez', port: 'http' });
    expect(readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'http' });
    expect(ports).toContainEqual({ name: 'http', containerPort: 3000 });
  });
});

describe('deploy/nginx', () => {
  const polls = readText('deploy/nginx/polls.conf');

  test("forwards Leadtap's Date header, which clients use", () => {
    expect(polls).toMatch(/^ *proxy_pass_header Date;$/m);
  });
});
