import { readFile } from 'node:fs/promises';
import { USER_LIMITS_TEXT } from '@leadtap/contract';
import { openApiDocument } from '@leadtap/contract/openapi';
import { alertRules, problemTable, readRules } from './alert-rules.ts';
import { clientContract } from './client-contract.ts';
import { commandTable } from './command-table.ts';
import { consoleTexts, loadedConsoleTexts } from './console-texts.ts';
import { docsPage } from './docs-page/page.ts';
import { errorsDocument } from './errors-document.ts';
import { headerTable, importFieldTable, sinceTable, wireFieldTable } from './field-tables.ts';
import * as integrations from './integration-fields.ts';
import { hookHostList, platformTable } from './platform-tables.ts';
import { pollersDocument } from './pollers-document.ts';
import { replaceSection } from './source-text.ts';
import { variableTable } from './variable-table.ts';
import * as versions from './versions.ts';

export interface GeneratedFile {
  /** Relative to the root of the repository. */
  readonly path: string;
  readonly text: string;
}

/** Every committed file that is generated, wholly or in marked sections, as it must be now. */
export async function generatedFiles(root: URL): Promise<readonly GeneratedFile[]> {
  const read = (path: string) => readFile(new URL(path, root), 'utf8');
  const withSection = async (path: string, name: string, content: string) =>
    replaceSection(await read(path), name, content);

  const project: versions.Project = JSON.parse(await read('package.json'));
  const { version } = project;
  const manifests = versions.packageFolders(project).map(async (folder) => ({
    path: `${folder}/package.json`,
    text: versions.manifestText(await read(`${folder}/package.json`), folder, project),
  }));
  const textsWithVersion = versions.TEXTS_WITH_VERSION.map(async (path) => ({
    path,
    text: versions.textWithVersion(await read(path), project),
  }));
  const openapi = openApiDocument(version);
  const commandLine = 'docs/command-line.md';
  const configuration = 'docs/configuration.md';
  const httpApi = 'docs/http-api.md';
  const integrationsIndex = 'docs/integrations/README.md';
  const problems = 'docs/problems.md';
  const alerts = 'deploy/prometheus/alerts.yaml';
  const importing = 'docs/getting-leads-in.md';
  const connector = 'integrations/workato/connector.rb';
  const swagger = 'integrations/power-automate/apiDefinition.swagger.json';
  const makeModules = ['watch-new-leads', 'list-leads'].map(
    (name) => `integrations/make/modules/${name}/${name}`,
  );
  return [
    ...(await Promise.all([...manifests, ...textsWithVersion])),
    { path: 'package-lock.json', text: versions.lockText(await read('package-lock.json'), project) },
    { path: 'packages/contract/openapi.json', text: `${JSON.stringify(openapi, null, 2)}\n` },
    { path: 'packages/client/src/contract.ts', text: clientContract(openapi) },
    { path: 'packages/console/src/contract-texts.json', text: consoleTexts() },
    { path: 'packages/console/src/loaded-texts.json', text: loadedConsoleTexts() },
    {
      path: 'packages/server/assets/docs.html',
      text: docsPage(version, await readRules(root)),
    },
    { path: 'docs/errors.md', text: errorsDocument() },
    { path: 'docs/integrations/pollers.md', text: pollersDocument() },
    {
      path: commandLine,
      text: await withSection(commandLine, 'commands', `\n${await commandTable(root)}\n`),
    },
    {
      path: configuration,
      text: replaceSection(
        await withSection(configuration, 'hook hosts', `\n${hookHostList()}\n`),
        'variables',
        `\n${await variableTable(root)}\n`,
      ),
    },
    {
      path: integrationsIndex,
      text: await withSection(integrationsIndex, 'platforms', `\n${platformTable()}\n`),
    },
    { path: problems, text: await withSection(problems, 'problems', `\n${await problemTable(root)}\n`) },
    { path: alerts, text: await withSection(alerts, 'problems', await alertRules(root)) },
    {
      path: httpApi,
      text: [
        ['lead fields', wireFieldTable()],
        ['forms of since', sinceTable()],
        ['headers', headerTable(openapi)],
        ['rate limits', `Each user may make **${USER_LIMITS_TEXT}**, with all tokens together.`],
      ].reduce(
        (text, [name = '', content]) => replaceSection(text, name, `\n${content}\n`),
        await read(httpApi),
      ),
    },
    { path: importing, text: await withSection(importing, 'import fields', `\n${importFieldTable()}\n`) },
    ...makeModules.flatMap((module) => [
      { path: `${module}.interface.iml.json`, text: integrations.makeInterface() },
      { path: `${module}.samples.iml.json`, text: integrations.makeSamples() },
    ]),
    { path: 'integrations/activepieces/piece/src/sample-lead.ts', text: integrations.activepiecesSample() },
    { path: 'integrations/n8n/node/nodes/Leadtap/sample-lead.ts', text: integrations.n8nSample() },
    { path: 'integrations/zapier/src/triggers/lead-fields.ts', text: integrations.zapierLeadFields() },
    { path: connector, text: await withSection(connector, 'lead fields', integrations.workatoFields()) },
    { path: swagger, text: integrations.powerAutomateDefinition(await read(swagger)) },
  ];
}
