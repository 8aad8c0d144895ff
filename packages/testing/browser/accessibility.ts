import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { isNightly } from '../vitest/nightly.ts';
import { findOverflow, THEMES, type Theme, VIEWPORTS } from './page.ts';

/** Half the size of what the module exports: each page reads it anew. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Rows are alike: the first ones stand for all. With a hundred of them, axe would take seconds. */
const CONTEXT = JSON.stringify({ exclude: ['.lead-row:nth-child(n + 9)'] });

/** A part of axe's result that names the rule and the elements. */
interface Violation {
  readonly id: string;
  readonly impact: string | null;
  readonly help: string;
  readonly nodes: readonly { readonly target: readonly unknown[]; readonly failureSummary?: string }[];
}

/** axe also has `minor` and `moderate`, which are advice. */
const IMPACTS = new Set<string | null>(['serious', 'critical']);

const LOOKS_OF_A_CHANGE = [
  { viewport: VIEWPORTS.phone, theme: 'light' },
  { viewport: VIEWPORTS.desktop, theme: 'dark' },
] as const;

/** The rules of axe that look at colours: the only ones that tell the themes apart. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];

/** Fails on serious and critical findings of axe, in both themes. The page keeps its state, and ends in the light theme. */
export async function expectAccessible(page: Page, themes: readonly Theme[] = THEMES): Promise<void> {
  const findings: string[] = [];
  for (const [index, theme] of themes.entries()) {
    await page.emulateMedia({ colorScheme: theme });
    const violations = await findViolations(page, index === 0 ? undefined : COLOUR_RULES);
    for (const violation of violations) findings.push(describe(theme, violation));
  }
  await page.emulateMedia({ colorScheme: 'light' });
  if (findings.length > 0) throw new Error(`axe found on ${page.url()}:\n${findings.join('\n')}`);
}

/**
 * Fails if the page, as it is now, is wider than the screen or not accessible, on phone and desktop. Each is looked at in one
 * theme, and at night in both: axe takes half a second, which was most of the time of the console's tests.
 */
export async function expectEveryLook(page: Page): Promise<void> {
  const before = page.viewportSize();
  for (const { viewport, theme } of LOOKS_OF_A_CHANGE) {
    await page.setViewportSize(viewport);
    await expectAccessible(page, isNightly() ? THEMES : [theme]);
    const wide = await findOverflow(page);
    if (wide.length > 0) throw new Error(`wider than ${viewport.width} pixels: ${wide.join(', ')}`);
  }
  if (before) await page.setViewportSize(before);
}

/** Serious and critical findings of axe for the page as it is shown now. Default: of all rules. */
export async function findViolations(page: Page, rules?: readonly string[]): Promise<Violation[]> {
  const session = await page.context().newCDPSession(page);
  try {
    // The debugger's evaluation is exempt from the content security policy; a script element would not be.
    const evaluate = async (expression: string): Promise<unknown> => {
      const parameters = { expression, awaitPromise: true, returnByValue: true };
      const { result, exceptionDetails } = await session.send('Runtime.evaluate', parameters);
      if (exceptionDetails) throw new Error(`axe failed: ${JSON.stringify(exceptionDetails)}`);
      return result.value;
    };
    if ((await evaluate('typeof axe')) === 'undefined') await evaluate(`${AXE}; undefined`);
    // Nothing is preloaded: that is for rules about media, and would request each style sheet again.
    const options = { resultTypes: ['violations'], preload: false, ...(rules && { runOnly: rules }) };
    const violations = (await evaluate(
      `axe.run(${CONTEXT}, ${JSON.stringify(options)}).then(({ violations }) => violations)`,
    )) as Violation[];
    return violations.filter(({ impact }) => IMPACTS.has(impact));
  } finally {
    await session.detach();
  }
}

const describe = (theme: Theme, { id, impact, help, nodes }: Violation): string =>
  [
    `${theme}: ${id} (${impact}): ${help}`,
    ...nodes.map(
      ({ target, failureSummary = '' }) => `  ${target.join(' ')}: ${failureSummary.replace(/\s+/g, ' ')}`,
    ),
  ].join('\n');
