/** The automation platforms that this repository has an integration for. Service, console, documents and tests read this table. */
interface PlatformEntry {
  readonly name: string;
  /** What people get, in a few words. */
  readonly summary: string;
  /** `cloud`: it must be able to reach the service over the internet. */
  readonly runs: 'cloud' | 'anywhere';
  /** How the integration is tested. */
  readonly tested: string;
  /** The hosts of its webhooks, to which events may be sent. `*.` stands for one or more labels in front. */
  readonly hookHosts: readonly string[];
  /** The files that the console offers, below `integrations/<platform>`. */
  readonly downloads: readonly string[];
  /** The folder of a package that the console offers as an archive, below `integrations/<platform>`. */
  readonly package?: string;
}

/** In the order of lists. The key is the name of the folder below `integrations`, and of the page below `docs/integrations`. */
export const PLATFORMS = {
  zapier: {
    name: 'Zapier',
    summary: 'An app with triggers for new leads',
    runs: 'cloud',
    tested: "with Zapier's test runner",
    hookHosts: ['hooks.zapier.com'],
    downloads: [],
  },
  make: {
    name: 'Make',
    summary: 'A custom app with triggers for new leads',
    runs: 'cloud',
    tested: 'simulated',
    hookHosts: ['*.make.com'],
    downloads: [],
  },
  n8n: {
    name: 'n8n',
    summary: 'A community node; leads within minutes or at once',
    runs: 'anywhere',
    tested: 'inside n8n 2.41.1',
    hookHosts: ['*.app.n8n.cloud'],
    downloads: ['new-leads-with-http-request.json'],
    package: 'node',
  },
  activepieces: {
    name: 'Activepieces',
    summary: 'A piece with triggers for new leads',
    runs: 'anywhere',
    tested: '*New Lead* inside Activepieces 0.88.3; the instant one simulated',
    hookHosts: ['*.activepieces.com'],
    downloads: [],
    package: 'piece',
  },
  pipedream: {
    name: 'Pipedream',
    summary: 'A source, New Lead',
    runs: 'cloud',
    tested: 'simulated',
    hookHosts: ['*.m.pipedream.net'],
    downloads: ['new-lead.mjs'],
  },
  workato: {
    name: 'Workato',
    summary: 'A custom connector with triggers for new leads',
    runs: 'cloud',
    tested: 'simulated',
    hookHosts: ['*.workato.com'],
    downloads: ['connector.rb'],
  },
  'power-automate': {
    name: 'Power Automate',
    summary: 'A custom connector with triggers for new leads',
    runs: 'cloud',
    tested: 'simulated',
    hookHosts: ['*.logic.azure.com', '*.api.powerplatform.com'],
    downloads: ['apiDefinition.swagger.json'],
  },
  'node-red': {
    name: 'Node-RED',
    summary: 'A flow to import; leads within minutes or at once',
    runs: 'anywhere',
    tested: 'inside Node-RED 5.0.7',
    hookHosts: [],
    downloads: ['new-leads.flow.json', 'new-leads-instant.flow.json'],
  },
} as const satisfies Record<string, PlatformEntry>;

export type PlatformId = keyof typeof PLATFORMS;

export const PLATFORM_LIST: readonly (PlatformEntry & { readonly id: PlatformId })[] = Object.entries(
  PLATFORMS,
).map(([id, entry]) => ({ id: id as PlatformId, ...entry }));

/** The folders of the packages of platforms. */
export const PLATFORM_PACKAGES: readonly string[] = PLATFORM_LIST.flatMap((platform) =>
  platform.package === undefined ? [] : [`integrations/${platform.id}/${platform.package}`],
);
