/** The variables with which each deployment starts `leadtap`, in addition to those of the image. */
import { type Config, parseConfig } from '../../../packages/server/src/config.ts';
import { environmentOf, readDockerfile } from './dockerfile.ts';
import type { ComposeService, PodSpec, Secret } from './manifests.ts';

type Environment = Readonly<Record<string, string>>;

const IMAGE_ENVIRONMENT = environmentOf(readDockerfile().image);

export const configOf = (env: Environment): Config =>
  parseConfig({ env: { ...IMAGE_ENVIRONMENT, ...env }, cwd: '/app' });

/** `${NAME}`, `${NAME:-default}` and `${NAME:?what to do}`, as Compose reads them. */
const REFERENCE = /\$\{(\w+)(?::([-?])([^}]*))?\}/g;

/** `dotEnv` is the file `.env`: Compose fills in references from it, and passes it on with `env_file`. */
export function composeEnvironment(
  { environment = {}, env_file }: ComposeService,
  dotEnv: Environment,
): Environment {
  const filled = Object.entries(environment).map(([name, text]) => [
    name,
    String(text).replace(REFERENCE, (_, variable: string, kind?: string, rest = '') => {
      const value = dotEnv[variable];
      if (value === undefined && kind === '?') throw new Error(`${variable} is missing a value: ${rest}`);
      return value ?? (kind === '-' ? rest : '');
    }),
  ]);
  return { ...(env_file === '.env' && dotEnv), ...Object.fromEntries(filled) };
}

export function podEnvironment(
  { containers: [container] }: PodSpec,
  secrets: readonly Secret[],
): Environment {
  const named = container.envFrom.map(({ secretRef }) => secretRef.name);
  const fromSecrets = secrets.filter(({ metadata }) => named.includes(metadata.name));
  const given = (container.env ?? []).map(({ name, value }) => [name, value]);
  return Object.assign({}, ...fromSecrets.map(({ stringData }) => stringData), Object.fromEntries(given));
}
