/** The deployment files, with the parts that the tests need. */
import { readFileSync } from 'node:fs';
import { parseYaml } from '@redocly/openapi-core';
import { ROOT } from './dockerfile.ts';

export const readText = (path: string): string => readFileSync(`${ROOT}${path}`, 'utf8');

export interface ComposeService {
  readonly image: string;
  readonly command?: readonly string[];
  readonly env_file?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly networks: readonly string[];
  readonly stop_grace_period?: string;
  readonly deploy?: { readonly replicas: number };
}

export function readCompose(): Readonly<Record<string, ComposeService>> {
  const { services } = parseYaml(readText('compose.yaml')) as {
    services: Readonly<Record<string, ComposeService>>;
  };
  return services;
}

export interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

export interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly envFrom: readonly { readonly secretRef: { readonly name: string } }[];
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly lifecycle: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
  readonly securityContext: Readonly<Record<string, unknown>>;
}

export interface PodSpec {
  readonly enableServiceLinks: boolean;
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly terminationGracePeriodSeconds: number;
  readonly containers: readonly [Container];
}

/** Of a Deployment or a Job. */
export function readPod(file: string): PodSpec {
  const { spec } = parseYaml(readText(`deploy/kubernetes/${file}`)) as {
    spec: { template: { spec: PodSpec } };
  };
  return spec.template.spec;
}

export interface Secret {
  readonly metadata: { readonly name: string };
  readonly stringData: Readonly<Record<string, string>>;
}

export function readSecretsExample(): readonly Secret[] {
  const { items } = parseYaml(readText('deploy/kubernetes/secrets.example.yaml')) as { items: Secret[] };
  return items;
}
