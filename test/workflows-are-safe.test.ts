/** The workflows of GitHub: valid for GitHub's own parser, with pinned actions and no more rights than each job needs. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { register } from 'node:module';
import { delimiter, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseYaml } from '@redocly/openapi-core';
import { describe, expect, test } from 'vitest';
import { tempFolder } from '../packages/testing/harness/temp-folder.ts';

/** The parser is made for bundlers: its imports of JSON do not say that it is JSON. */
const JSON_HOOK = `export const load = (url, context, next) =>
  next(url, url.endsWith('.json') ? { ...context, importAttributes: { type: 'json' } } : context);`;
register(`data:text/javascript,${encodeURIComponent(JSON_HOOK)}`);
const { convertWorkflowTemplate, NoOperationTraceWriter, parseWorkflow } = await import(
  '@actions/workflow-parser'
);

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FOLDER = join(ROOT, '.github/workflows');

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
}

interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps?: readonly Step[];
  readonly uses?: string;
  readonly needs?: string | readonly string[];
  readonly strategy?: { readonly matrix: Readonly<Record<string, readonly number[]>> };
  readonly 'timeout-minutes'?: number;
}

interface Workflow {
  readonly permissions: unknown;
  readonly concurrency: unknown;
  readonly jobs: Readonly<Record<string, Job>>;
}

const read = (name: string): string => readFileSync(join(FOLDER, name), 'utf8');
const workflow = (name: string): Workflow => parseYaml(read(name)) as Workflow;
const { jobs: RELEASE_JOBS } = workflow('release.yml');
const scriptsOf = (name: string): string[] =>
  (RELEASE_JOBS[name]?.steps ?? []).flatMap(({ run }) => (run === undefined ? [] : [run]));

describe.each(readdirSync(FOLDER))('%s', (name) => {
  const text = read(name);
  const { permissions, concurrency, jobs } = workflow(name);

  test('is valid', async () => {
    const { context, value } = parseWorkflow({ name, content: text }, new NoOperationTraceWriter());
    expect(context.errors.getErrors().map(String)).toEqual([]);
    if (value === undefined) throw new Error('It has no value.');
    const { errors } = await convertWorkflowTemplate(context, value);
    expect(errors ?? []).toEqual([]);
  });

  test('uses actions by the digest of a commit, with its version beside it', () => {
    const used = [...text.matchAll(/^ *-? *uses: (.+)$/gm)].map(([, action]) => action);
    expect(used.length).toBeGreaterThan(0);
    for (const action of used)
      expect(action).toMatch(
        /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$|^\.\/\.github\/workflows\/(?:ci|nightly)\.yml$/,
      );
  });

  test('gives no rights but those that a job asks for, and ends a job that hangs', () => {
    expect(permissions).toEqual({});
    expect(concurrency).toBeDefined();
    for (const job of Object.values(jobs)) {
      expect(job.permissions).toBeDefined();
      if (job.uses === undefined) expect(job['timeout-minutes']).toBeGreaterThan(0);
      for (const { uses, with: inputs } of job.steps ?? [])
        if (uses?.startsWith('actions/checkout@'))
          expect(inputs).toMatchObject({ 'persist-credentials': false });
    }
  });

  test('has no expression in a script, where a name could become a command', () => {
    const scripts = Object.values(jobs).flatMap(({ steps = [] }) => steps.map(({ run = '' }) => run));
    expect(scripts.filter((script) => script.includes('${{'))).toEqual([]);
  });
});

test('CI runs .ci/run on every supported version of Node.js', () => {
  const { test: job } = workflow('ci.yml').jobs;
  expect(job?.strategy?.matrix['node']).toEqual([20, 22, 24, 26]);
  expect(job?.steps?.at(-1)?.run).toBe('.ci/run');
});

test('the night runs all tests', () => {
  expect(workflow('nightly.yml').jobs['test']?.steps?.at(-1)?.run).toBe('npm run test:nightly');
});

test.each(['ci.yml', 'nightly.yml'])(
  '%s has the home folder of root: Firefox refuses one of another user',
  (name) => {
    const scripts = workflow(name).jobs['test']?.steps?.filter(({ run }) => run !== undefined) ?? [];
    expect(scripts.map(({ env }) => env?.['HOME'])).toEqual(scripts.map(() => '/root'));
  },
);

describe('release.yml', () => {
  test('gives each job the rights for what it does', () => {
    const rights = Object.entries(RELEASE_JOBS).map(([name, { permissions }]) => [name, permissions]);
    expect(Object.fromEntries(rights)).toEqual({
      test: { contents: 'read' },
      'test-all': { contents: 'read' },
      build: { contents: 'read' },
      'build-image': {},
      'build-executable': { contents: 'read' },
      'publish-packages': { 'id-token': 'write' },
      'publish-image': { packages: 'write', 'id-token': 'write' },
      'publish-release': { contents: 'write' },
    });
  });

  test('publishes only after the tests, and a job that may publish installs and builds nothing', () => {
    for (const [name, { permissions = {}, steps = [], needs }] of Object.entries(RELEASE_JOBS)) {
      if (!Object.values(permissions).includes('write')) continue;
      expect(steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'))).toEqual([]);
      expect(scriptsOf(name).join('\n')).not.toMatch(/npm (ci|install|run|exec)|npx|docker (build|run)/);
      if (name !== 'publish-release') expect(needs).toEqual(expect.arrayContaining(['test', 'test-all']));
    }
    expect(RELEASE_JOBS['publish-release']?.needs).toEqual(['publish-packages', 'publish-image']);
  });
});

describe('the scripts of release.yml, with stubs for the programs that publish', () => {
  const NAMES = ['leadtap', 'leadtap-contract', 'leadtap-client', 'n8n-nodes-leadtap'];

  /** Runs the scripts of a job in a folder with the files of a release. The calls of programs are returned. */
  function runJob(job: string, stubs: Readonly<Record<string, string>> = {}): string[] {
    const folder = tempFolder();
    const [work, bin] = [join(folder, 'work'), join(folder, 'bin')];
    for (const path of [work, bin]) mkdirSync(path);
    mkdirSync(join(folder, 'context'));
    writeFileSync(join(folder, 'context/Dockerfile'), 'FROM scratch\n');
    execFileSync('tar', [
      '-cf',
      join(work, 'leadtap-1.2.3-container.tar'),
      '-C',
      join(folder, 'context'),
      'Dockerfile',
    ]);
    const files = [...NAMES.map((name) => `${name}-1.2.3.tgz`), 'leadtap-1.2.3.cdx.json', 'RELEASE_NOTES.md'];
    for (const name of files) writeFileSync(join(work, name), name);
    execFileSync('sh', ['-c', 'sha256sum * > SHA256SUMS'], { cwd: work });
    if (job === 'publish-release') {
      const executables =
        'for a in x64 arm64; do f=leadtap-1.2.3-linux-$a; echo $a > $f; sha256sum $f > $f.sha256; done';
      execFileSync('sh', ['-c', executables], { cwd: work });
    }
    const calls = join(folder, 'calls');
    writeFileSync(calls, '');
    for (const program of ['npm', 'docker', 'skopeo', 'cosign', 'gh']) {
      writeFileSync(
        join(bin, program),
        `#!/bin/sh\necho "${program} $*" >> ${calls}\n${stubs[program] ?? ''}\n`,
      );
      chmodSync(join(bin, program), 0o755);
    }
    const env = {
      PATH: `${bin}${delimiter}${process.env['PATH']}`,
      GITHUB_REF_NAME: 'v1.2.3',
      GITHUB_REPOSITORY: 'Ada/Leadtap',
      GITHUB_SHA: 'a1b2c3',
      GITHUB_ACTOR: 'ada',
      GITHUB_TOKEN: 'secret',
      ARCHITECTURE: 'x64',
    };
    // As GitHub runs them with `shell: bash`.
    for (const script of scriptsOf(job))
      execFileSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script], {
        cwd: work,
        env,
        stdio: 'pipe',
      });
    return readFileSync(calls, 'utf8').trim().split('\n');
  }

  /** What the registry has for a package whose file has its name as content. */
  const INTEGRITY = `file=\${2#@}; file=$(echo "$file" | sed 's|/|-|; s|@|-|').tgz; echo "sha512-$(printf %s "$file" | openssl dgst -sha512 -binary | base64 --wrap=0)"`;

  test('publish each package after those that it needs', () => {
    const isMissing = 'test "$1" = publish && test -f "$2"';
    const published = runJob('publish-packages', { npm: isMissing }).filter((call) =>
      call.includes('publish'),
    );
    expect(
      published.map((call) => / \.\/(.+)-1\.2\.3\.tgz --access public --provenance$/.exec(call)?.[1]),
    ).toEqual(['leadtap-contract', 'leadtap', 'leadtap-client', 'n8n-nodes-leadtap']);
  });

  test('skip a package that is published, and publish one that npm says nothing about', () => {
    const npm = `test "$1 $2" = "view leadtap@1.2.3" || { ${INTEGRITY}; }`;
    const calls = runJob('publish-packages', { npm });
    expect(calls.filter((call) => call.includes('publish'))).toEqual([
      'npm publish ./leadtap-1.2.3.tgz --access public --provenance',
    ]);
  });

  test('stop at a package that is published with other content', () => {
    expect(() => runJob('publish-packages', { npm: 'echo sha512-other' })).toThrow();
  });

  const SECRET = 'test "$(cat)" = secret';
  const skopeo = (published: string) =>
    `case "$*" in *docker://*) ${published} ;; *) echo ours ;; esac; test "$1" = inspect || echo sha256:0123 > digest`;
  const PUSHED = [
    'skopeo copy --all --preserve-digests --digestfile digest oci-archive:image.tar docker://ghcr.io/ada/leadtap:1.2.3',
    'cosign sign --yes ghcr.io/ada/leadtap@sha256:0123',
  ];

  test.each([
    ['not pushed yet', 'test "$1" = copy || exit 1'],
    ['pushed by an earlier attempt', 'echo ours'],
  ])('push and sign an image that was %s', (_state, published) => {
    const calls = runJob('publish-image', { docker: SECRET, skopeo: skopeo(published) });
    expect(calls.filter((call) => !call.startsWith('skopeo inspect'))).toEqual([
      'docker login ghcr.io --username ada --password-stdin',
      ...PUSHED,
    ]);
  });

  test('stop at another image of the same version', () => {
    expect(() => runJob('publish-image', { docker: SECRET, skopeo: skopeo('echo theirs') })).toThrow();
  });

  test('attach packages, context, SBOM, executables and checksums to the release, with the notes', () => {
    const [call = ''] = runJob('publish-release');
    for (const name of [
      ...NAMES.map((name) => `./${name}-1.2.3.tgz`),
      './leadtap-1.2.3-container.tar',
      './leadtap-1.2.3.cdx.json',
      'SHA256SUMS',
      './leadtap-1.2.3-linux-arm64',
      './leadtap-1.2.3-linux-x64.sha256',
    ])
      expect(call.split(' ')).toContain(name);
    expect(call).toMatch(/^gh release create v1\.2\.3 .*--verify-tag .*--notes-file RELEASE_NOTES\.md/);
  });
});
