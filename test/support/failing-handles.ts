/** What people put in the place of `handle`: it needs time, fails once at `lead-250`, and writes down each lead that it has handled. */

const JAVASCRIPT = /^(const handle = .*;$|(async )?function handle\([\s\S]*?^\})/m;
const PYTHON = /^def handle\(lead\):\n( {4}.*\n)+/m;
const IMPORT = "import * as files from 'node:fs';\n";
const FAIL = `if (lead.id === 'lead-250' && !files.existsSync('failed')) {
    files.writeFileSync('failed', '');
    throw new Error('full');
  }
  files.appendFileSync('handled.txt', lead.id + '\\n');`;
const FAIL_IN_PYTHON = `    if lead['id'] == 'lead-250' and not pathlib.Path('failed').exists():
        pathlib.Path('failed').touch()
        raise RuntimeError('full')
    with open('handled.txt', 'a') as handled:
        handled.write(lead['id'] + '\\n')
`;

const HANDLES = {
  'sync JavaScript': [
    JAVASCRIPT,
    `${IMPORT}function handle(lead) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
  ${FAIL}
}`,
  ],
  'async JavaScript': [
    JAVASCRIPT,
    `${IMPORT}async function handle(lead) {
  await new Promise((resolve) => setTimeout(resolve, 1));
  ${FAIL.replace("new Error('full')", 'null')}
}`,
  ],
  'sync Python': [PYTHON, `def handle(lead):\n    time.sleep(0.001)\n${FAIL_IN_PYTHON}`],
  'async Python': [
    PYTHON,
    `import asyncio\nasync def handle(lead):\n    await asyncio.sleep(0.001)\n${FAIL_IN_PYTHON}`,
  ],
  // The command that fails is not the last one.
  bash: [
    /^handle\(\) .*$/m,
    `handle() {
  sleep 1
  if grep --quiet '"id":"lead-250"' page.json && ! test -e failed; then touch failed; false; fi
  cat page.json >> handled.txt; echo >> handled.txt
}`,
  ],
} as const;

export type HandleKind = keyof typeof HANDLES;

export const withHandle =
  (kind: HandleKind) =>
  (program: string): string => {
    const [pattern, handle] = HANDLES[kind];
    if (!pattern.test(program)) throw new Error(`the program has no handle: ${program}`);
    return program.replace(pattern, () => handle);
  };

/** The ids that it has written down. */
export const idsIn = (text: string): string[] =>
  [...text.matchAll(/"id":"(lead-\d+)"|^(lead-\d+)$/gm)].map(([, json, line]) => json ?? line ?? '');
