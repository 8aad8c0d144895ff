/**
 * How each platform is connected: the short form of docs/integrations, with the address of this service. `*…*` is a label of
 * the platform, `` `…` `` is code. A test compares labels, files and programs with the documents.
 */
import { PLATFORM_LIST, type PlatformId } from '@leadtap/contract';
import { pythonProgram, SHELL_LOOP, typeScriptProgram } from './programs.ts';

export interface Step {
  readonly text: string;
  /** Shown below the text, with a button that copies it. */
  readonly code?: string;
}

/** One way to get leads from the service. */
export interface Way {
  /** Empty if there is no other. */
  readonly title: string;
  readonly steps: readonly Step[];
  /** What the visitor should see when it works. */
  readonly result: string;
}

/** The way without an app: the platform has an address for webhooks, which the visitor subscribes here. */
export interface WebhookWay {
  /** Until the visitor has the address. */
  readonly before: readonly Step[];
  /** Of the field for the address. */
  readonly label: string;
  /** After it was pasted here. */
  readonly after: readonly Step[];
  /** When the app is better. */
  readonly app: string;
}

export interface Platform {
  /** Part of the address of the page, and of the name of its document. */
  readonly id: string;
  readonly name: string;
  /** Under its name on the tile. */
  readonly summary: string;
  /** `cloud`: it must be able to reach this service over the internet. */
  readonly runs: 'cloud' | 'anywhere' | 'on your machine';
  readonly document: string;
  /** Undefined if it has none, or if the service sends no webhooks. */
  readonly webhook?: WebhookWay | undefined;
  /** What is done once, by a person who may install apps. */
  readonly setup: readonly Step[];
  /** The fastest first. */
  readonly ways: readonly [Way, ...Way[]];
  readonly notes: readonly string[];
}

/** What the table of platforms in `@leadtap/contract` does not have. */
type Guide = Pick<Platform, 'webhook' | 'setup' | 'ways' | 'notes'>;

/** The address of this service, as the visitor sees it. */
export interface Address {
  /** `https://leads.example.com/api` */
  readonly baseUrl: string;
  /** `leads.example.com` */
  readonly host: string;
  /** `/api`, or `/` */
  readonly path: string;
}

/** Of this service, as far as the steps depend on it. */
export interface Service extends Address {
  /** Whether platforms can subscribe webhooks. */
  readonly hasHooks: boolean;
  /** Of Leadtap; the names of the packages contain it. */
  readonly version: string;
}

export const addressOf = (baseUrl: string): Address => {
  const { host, pathname } = new URL(baseUrl);
  return { baseUrl, host, path: pathname };
};

const BURSTS = 'More than 100 leads between two polls: you get all.';
const AT_ONCE = 'At once';
const ON_A_SCHEDULE = 'On a schedule';
const OWN_TOKEN =
  'Give each automation a token of its own: only then this service knows which of them has read its leads.';

interface Triggers {
  readonly atOnce: string;
  readonly onASchedule: string;
  /** Before the others, if there is one. */
  readonly first?: Step;
  /** The step in which the visitor chooses a trigger. */
  readonly choose: (trigger: string) => string;
  readonly next: readonly Step[];
  /** Without a full stop. */
  readonly result: string;
  readonly interval: string;
}

/** Of a platform with two triggers that differ in how soon they start, and in nothing else. */
function triggerWays(hasInstant: boolean, triggers: Triggers): readonly [Way, ...Way[]] {
  const { first, atOnce, onASchedule, choose, next, result, interval } = triggers;
  const stepsWith = (trigger: string): Step[] => [
    ...(first ? [first] : []),
    { text: choose(trigger) },
    ...next,
  ];
  const polled = `${result}, with the next poll: ${interval}.`;
  if (!hasInstant) return [{ title: '', steps: stepsWith(onASchedule), result: polled }];
  return [
    { title: AT_ONCE, steps: stepsWith(atOnce), result: `${result}, within seconds.` },
    { title: ON_A_SCHEDULE, steps: stepsWith(onASchedule), result: polled },
  ];
}

/** Only if the service sends webhooks. */
const webhook = (hasHooks: boolean, way: WebhookWay): Pick<Platform, 'webhook'> =>
  hasHooks ? { webhook: way } : {};

const TEST_IT = 'Send a test lead with the button above.';

const zapier = ({ baseUrl, hasHooks }: Service): Guide => ({
  ...webhook(hasHooks, {
    before: [
      {
        text: 'In Zapier, create a Zap. As its trigger, choose *Webhooks by Zapier* and the event *Catch Hook*. Copy its webhook URL.',
      },
    ],
    label: 'Webhook URL of Zapier',
    after: [
      { text: `${TEST_IT} In Zapier, choose *Test trigger*, add an action, and *Publish* the Zap.` },
      {
        text: 'Before you switch the Zap off, choose *Pause* in its log on the Overview: Zapier accepts the leads then, too, and drops them.',
      },
    ],
    app: 'The app is better if your Zapier plan has no webhooks, and offers custom fields by their names.',
  }),
  setup: [],
  ways: triggerWays(hasHooks, {
    first: {
      text: 'Open the invitation to the Leadtap app, which you get from the operator, and accept it.',
    },
    atOnce: 'New Lead (Instant)',
    onASchedule: 'New Lead',
    choose: (trigger) =>
      `In Zapier, create a Zap. As its trigger, choose the app *Leadtap* and the event *${trigger}*.`,
    next: [
      {
        text: 'Choose *Sign in*. Enter the access token and this base address. Zapier tests them at once.',
        code: baseUrl,
      },
      { text: 'Choose *Test trigger*. Zapier shows your newest leads, or a sample lead if there is none.' },
      {
        text: 'Add an action, such as *Google Sheets: Create Spreadsheet Row*, and map the fields of the lead.',
      },
      { text: '*Publish* the Zap.' },
    ],
    result: 'The Zap runs once for each new lead',
    interval: 'every 1 to 15 minutes, depending on your Zapier plan',
  }),
  notes: [
    'Existing leads do not start the Zap. While it is off, leads do not start it, also not later.',
    'No invitation? Ask the operator, who uploads the app to Zapier once.',
  ],
});

/** All parts of the custom app; made with the console. */
export const MAKE_APP_FILE = 'leadtap-for-make.html';

const make = ({ baseUrl, hasHooks }: Service): Guide => {
  const polling = {
    title: hasHooks ? ON_A_SCHEDULE : '',
    steps: [
      { text: 'Create a scenario, click the plus, search for *Leadtap*, choose *Watch New Leads*.' },
      {
        text: 'Choose *Create a connection*. Enter the token and this base address. *Save* tests them.',
        code: baseUrl,
      },
      { text: '*Limit* is the maximum number of leads in one run. Start with 100.' },
      {
        text: 'At *Choose where to start*, choose *From now on*, or *All* for the leads of the past, too.',
      },
      {
        text: 'Add your next module and map the fields of the lead. Run the trigger once, so that Make knows your custom fields.',
      },
      { text: 'Switch the scenario on, and set its schedule to every 2 minutes or more.' },
    ],
    result:
      'Each run gets the leads that are new, oldest first. The connection has the name of your company.',
  };
  const instant = {
    title: AT_ONCE,
    steps: [
      { text: 'Create a scenario, click the plus, search for *Leadtap*, choose *Watch Lead Events*.' },
      {
        text: 'Choose *Create a webhook*, and in it *Create a connection*. Enter the token and this base address.',
        code: baseUrl,
      },
      { text: 'Add *List Leads*, and map *Since* and *Through* of the first module.' },
      { text: 'Add your next module and map the fields of the lead.' },
      {
        text: 'In the settings of the scenario, switch *Store incomplete executions* on. Then switch the scenario on.',
      },
    ],
    result: 'A new lead starts the scenario within seconds. *List Leads* gives a bundle for each new lead.',
  };
  return {
    ...webhook(hasHooks, {
      before: [
        {
          text: 'In Make, create a scenario that starts with *Webhooks*, *Custom webhook*. Add a webhook, and copy its address.',
        },
      ],
      label: 'Webhook address of Make',
      after: [
        {
          text: `${TEST_IT} Make then knows the fields. Add your next module, and switch the scenario on.`,
        },
      ],
      app: 'The app is better if one run is to read many leads, on a schedule.',
    }),
    setup: [
      {
        text: `A person with the right to create custom apps downloads \`${MAKE_APP_FILE}\` and opens it in a browser. It lists the parts of the app in order, with a button that copies each. In Make, under *Custom apps*, create an app named \`leadtap\`, then its parts, and paste them.`,
      },
    ],
    ways: hasHooks ? [instant, polling] : [polling],
    notes: [
      ...(hasHooks
        ? [
            'Leads at once can come a second time, if Make does not confirm an event. Compare the *Unique ID*, or choose the schedule, if that matters.',
            OWN_TOKEN,
          ]
        : []),
      'On a schedule, more leads than the limit: the next run continues there. No lead is lost.',
      'If the scenario was switched off, fix what its history says and switch it on: you get the leads that arrived meanwhile.',
    ],
  };
};

const n8n = ({ baseUrl, hasHooks, version }: Service): Guide => ({
  ...webhook(hasHooks, {
    before: [
      {
        text: 'In n8n, create a workflow that starts with a *Webhook* node. Set *HTTP Method* to *POST*, *Authentication* to *None*, and *Respond* to *When Last Node Finishes*. Copy its *Production URL*, and *Publish* the workflow.',
      },
    ],
    label: 'Production URL of n8n',
    after: [
      { text: `${TEST_IT} It is under *Executions*. In your nodes, the lead is \`{{ $json.body }}\`.` },
    ],
    app: 'Our node is better if this service cannot reach your n8n.',
  }),
  setup: [
    {
      text: `Once, on the machine of n8n, as its user: download \`n8n-nodes-leadtap-${version}.tgz\`, install it with the path of that file, and restart n8n.`,
      code: `mkdir -p ~/.n8n/nodes\nnpm install --prefix ~/.n8n/nodes --legacy-peer-deps /path/to/n8n-nodes-leadtap-${version}.tgz`,
    },
  ],
  ways: triggerWays(true, {
    atOnce: 'Leadtap Instant Trigger',
    onASchedule: 'Leadtap Trigger',
    choose: (trigger) =>
      `Create a workflow, add its first step, and search for *Leadtap*. Choose *On new lead* of the *${trigger}*.`,
    next: [
      {
        text: 'At *Credential*, choose *Create new credential*. Enter the access token and this base URL, and save. n8n tests them at once.',
        code: baseUrl,
      },
      { text: 'Choose *Fetch Test Event*. You see up to three of your newest leads, or a sample lead.' },
      {
        text: 'Add the nodes that handle the lead, and *Publish* the workflow (in older versions: switch it to *Active*).',
      },
    ],
    result: 'The workflow runs for new leads, each of them an item',
    interval: 'at *Poll Times*, choose *Every X*, 2, *minutes*',
  }),
  notes: [
    `${BURSTS} A poll reads up to 1,000, the next one continues.`,
    'For n8n in a container, `localhost` is the container itself.',
    'You may not install nodes? Import `new-leads-with-http-request.json`, which uses only nodes of n8n itself.',
  ],
});

const activepieces = ({ baseUrl, hasHooks, version }: Service): Guide => ({
  ...webhook(hasHooks, {
    before: [
      {
        text: 'In Activepieces, create a flow with the trigger *Webhook*, *Catch Webhook*. Copy its *Live URL*, without `/sync` at the end, and *Publish* the flow.',
      },
    ],
    label: 'Live URL of Activepieces',
    after: [{ text: `${TEST_IT} It is under *Runs*. In your steps, the lead is \`trigger['body']\`.` }],
    app: 'The piece is better if you want sample leads to map, or if this service cannot reach your Activepieces.',
  }),
  setup: [
    {
      text: `Once: download \`leadtap-piece-leadtap-${version}.tgz\`. In Activepieces, under *Settings → Pieces*, choose *Install piece*, *Packed archive*, and upload it. Name: \`@leadtap/piece-leadtap\`, version: \`${version}\`.`,
    },
  ],
  ways: triggerWays(hasHooks, {
    atOnce: 'New Lead (Instant)',
    onASchedule: 'New Lead',
    choose: (trigger) => `Create a flow and choose *Leadtap*, *${trigger}* as its trigger.`,
    next: [
      {
        text: 'Choose *Connect*. Enter the token and this base address. They are tested before they are saved.',
        code: baseUrl,
      },
      { text: 'Leave *Start from* empty to get leads from now on, or enter a time.' },
      { text: '*Load sample data* shows the five newest leads. Add your steps and publish the flow.' },
    ],
    result: 'The flow starts once for each new lead',
    interval: 'every 5 minutes, unless the operator of Activepieces has set another interval',
  }),
  notes: [
    ...(hasHooks
      ? [
          'If publishing fails with a 422, this service may not send to the host of your Activepieces. Ask the operator to add it to `LEADTAP_HOOK_HOSTS`, or use *New Lead*.',
        ]
      : []),
    'More than 100 leads at once: you get all. A run reads up to 2,000, the next one continues.',
  ],
});

const pipedream = ({ baseUrl, hasHooks }: Service): Guide => ({
  ...webhook(hasHooks, {
    before: [
      {
        text: 'In Pipedream, create a workflow with the trigger *HTTP / Webhook*, *New Requests*. Copy its URL.',
      },
    ],
    label: 'URL of the trigger',
    after: [
      {
        text: `${TEST_IT} Choose it in the list of events: the lead is \`steps.trigger.event.body\`. Add your steps, and deploy the workflow.`,
      },
      {
        text: 'Before you disable the workflow, choose *Pause* in its log on the Overview: what Pipedream answers then is not documented.',
      },
    ],
    app: 'Our source is better if you want signatures to be checked, or your newest leads as samples.',
  }),
  setup: [],
  ways: [
    {
      title: '',
      steps: [
        {
          text: 'Install the command-line tool of Pipedream (`pd`). In a folder with the file `new-lead.mjs`, run:',
          code: 'pd login\npd deploy new-lead.mjs',
        },
        {
          text: `It asks for the token, the interval of the *safety net* (${hasHooks ? 900 : 120} seconds) and this base address:`,
          code: baseUrl,
        },
        { text: 'Under *Sources*, *New Lead (Leadtap)* shows the ten newest leads as samples.' },
        { text: 'Build a workflow with this source as its trigger. The lead is `steps.trigger.event`.' },
      ],
      result: hasHooks
        ? 'The workflow starts for each lead from now on, as soon as it arrives, after the samples.'
        : 'The workflow starts for each lead from now on, every 2 minutes, after the samples.',
    },
  ],
  notes: ['More than 100 leads at once: you get all. A run reads up to 2,000, the next one continues.'],
});

const workato = ({ baseUrl, hasHooks }: Service): Guide => ({
  setup: [
    {
      text: 'Once: in Workato, open *Tools → Connector SDK* and create a *new connector* from scratch, named *Leadtap*.',
    },
    { text: 'Replace its code by the file `connector.rb` and save it.' },
    {
      text: 'On the tab *Test code*, create a connection with the token and this base address. *Connected* means that both are correct.',
      code: baseUrl,
    },
    { text: '*Release* the latest version.' },
  ],
  ways: triggerWays(hasHooks, {
    atOnce: 'New lead (instant)',
    onASchedule: 'New lead',
    choose: (trigger) =>
      `Create a recipe that starts with *Trigger from an app*, choose *Leadtap*, *${trigger}*.`,
    next: [
      {
        text: 'Leave *When first started, this recipe should pick up leads from* empty to get leads from now on. Add your steps, and start the recipe.',
      },
    ],
    result: 'The recipe has one job for each new lead',
    interval: 'every 5 minutes, unless you set another interval on the trigger',
  }),
  notes: [`${BURSTS} While a page is full, Workato polls again at once.`],
});

const powerAutomate = ({ host, path, hasHooks }: Service): Guide => {
  const polling = {
    title: hasHooks ? ON_A_SCHEDULE : '',
    steps: [
      {
        text: 'Create an *automated cloud flow* with the trigger *When a new lead arrives (on a schedule)*. In the settings of the trigger, under *Trigger conditions*, add this, then add your steps:',
        code: "@and(not(empty(triggerBody()?['automation_trigger_id'])), not(empty(triggerBody()?['createdAt'])))",
      },
    ],
    result:
      'The flow starts for each new lead, one with each poll. A burst of 20 leads takes 20 polls, and none is lost.',
  };
  const instant = {
    title: AT_ONCE,
    steps: [
      {
        text: 'On *Definition*, add a policy of the template *Route request*: operation `ListLeads`, new path `/automation/new-leads`, method `@Request.OriginalHTTPMethod`. Update the connector.',
      },
      {
        text: 'Create an *automated cloud flow* with the trigger *When there are new leads (at once)*. Add *Initialize variable* `since`, of the type String, with the value',
        code: "@{triggerBody()?['data']?['since']}",
      },
      {
        text: 'Add *Do until*, with *Count* 500 and *Timeout* `PT6H`. The next steps go into it. Its condition: the variable `since` is equal to',
        code: "@{triggerBody()?['data']?['through']}",
      },
      {
        text: "Add *List leads* of the connector, with *Since* `@{variables('since')}`. In its settings, set the *Retry policy* to a fixed interval, count 90, interval `PT1M`.",
      },
      {
        text: 'Add a *Condition* that this is equal to `true`. If no, add *Terminate* with the status *Failed*: the answer is not of Leadtap.',
        code: "contains(coalesce(outputs('List_leads')?['headers']?['Link'], ''), 'rel=\"next\"')",
      },
      {
        text: "Add *Filter array* over `@{body('List_leads')}`, with this condition in its advanced mode:",
        code: "@and(not(empty(item()?['automation_trigger_id'])), lessOrEquals(item()?['createdAt'], triggerBody()?['data']?['through']))",
      },
      { text: "Add *Apply to each* over `@{body('Filter_array')}` with your steps." },
      {
        text: 'Add *Set variable* `since` with the value',
        code: "@{if(less(length(body('Filter_array')), 100), triggerBody()?['data']?['through'], last(body('Filter_array'))?['createdAt'])}",
      },
    ],
    result: 'The flow starts within seconds after a new lead, and handles all that are new.',
  };
  return {
    ...webhook(hasHooks, {
      before: [
        {
          text: "Create a cloud flow with the trigger *When an HTTP request is received*. At *Who can trigger the flow?* choose *Anyone*. Add your steps: the fields of the lead are `triggerBody()?['fullName']` and so on. Save the flow, and copy the URL of the trigger.",
        },
      ],
      label: 'URL of the trigger',
      after: [{ text: `${TEST_IT} It is in the run history.` }],
      app: 'The connector is better if your organisation does not allow flows that anyone can start.',
    }),
    setup: [
      {
        text: 'Under *Custom connectors*, choose *New custom connector → Import an OpenAPI file*, and the file `apiDefinition.swagger.json`.',
      },
      { text: `On *General*, set *Base URL* to \`${path}\` and *Host* to`, code: host },
      {
        text: 'On *Definition*, at the trigger *NewLead*, under *Trigger configuration*: *Select query parameter to monitor state change* is `since`, *Select collection that contains trigger data* is `@triggerBody()`, and *Specify value to pass to selected query parameter* is',
        code: '@{triggerBody()[0].createdAt}',
      },
      {
        text: 'Choose *Create connector*. On the tab *Test*, create a connection; its key is the word `Bearer`, a space, and the token. The response must show your leads.',
      },
    ],
    ways: hasHooks ? [instant, polling] : [polling],
    notes: [
      'You need a plan with premium connectors.',
      ...(hasHooks ? [OWN_TOKEN] : []),
      'On a schedule: before you switch the flow on, the company should have at least one lead, because the first poll only saves the newest one.',
      'On a schedule, a flow gets at most about 25 leads per hour.',
    ],
  };
};

const nodeRed = ({ baseUrl }: Service): Guide => {
  const stepsWith = (file: string): Step[] => [
    { text: `In the menu, *Import*, choose the file \`${file}\`.` },
    {
      text: 'Double-click its tab and select the icon with the list (*Environment variables*). Set `LEADTAP_TOKEN` to the token and `LEADTAP_URL` to',
      code: baseUrl,
    },
    {
      text: 'Choose *Deploy*. Put your own nodes between *send the leads* and *lead is done*: `msg.payload` is the lead, `msg.topic` its unique ID.',
    },
    {
      text: 'So that it continues after a restart where it stopped, set in `settings.js` of Node-RED:',
      code: "contextStorage: { default: { module: 'localfilesystem', config: { flushInterval: 1 } } },",
    },
  ];
  return {
    setup: [],
    ways: [
      {
        title: AT_ONCE,
        steps: stepsWith('new-leads-instant.flow.json'),
        result:
          'The node *take the page* shows *waiting for leads*. Each new lead is one message in the debug panel, within a second.',
      },
      {
        title: ON_A_SCHEDULE,
        steps: stepsWith('new-leads.flow.json'),
        result: 'It polls every 2 minutes. To poll now, press the button of the node *every 2 minutes*.',
      },
    ],
    notes: [
      'Use one of the two flows, not both.',
      'Errors appear at the node *problem*. Nothing is lost: the next poll sends the same request again.',
    ],
  };
};

const curl = ({ baseUrl }: Service): Platform => ({
  id: 'curl',
  name: 'curl',
  summary: 'One request, or a shell script that waits for leads',
  runs: 'on your machine',
  document: 'docs/instant-delivery.md',
  setup: [],
  ways: [
    {
      title: '',
      steps: [
        {
          text: 'Put the address and the token into the shell:',
          code: `export LEADTAP_URL='${baseUrl}'\nexport LEADTAP_TOKEN='<ACCESS_TOKEN>'`,
        },
        {
          text: 'The newest three leads, with all headers:',
          code: 'curl -i -H "Authorization: Bearer $LEADTAP_TOKEN" "$LEADTAP_URL/automation/new-leads?limit=3"',
        },
        {
          text: 'Every new lead at once: save this as `leads.sh` and run `bash leads.sh`.',
          code: SHELL_LOOP,
        },
      ],
      result:
        'The script appends each page of new leads to `leads.txt`. It keeps in `next.url` how far it is, so it continues after a restart.',
    },
  ],
  notes: [
    'Put your own command into `handle`. If it fails, the script ends, and you get the same leads when you start it again.',
  ],
});

const typeScript = ({ baseUrl, version }: Service): Platform => ({
  id: 'typescript',
  name: 'TypeScript',
  summary: 'Every new lead in a for await loop',
  runs: 'on your machine',
  document: 'docs/integrations/your-own-program.md',
  setup: [],
  ways: [
    {
      title: '',
      steps: [
        {
          text: `Install Node.js 20 or later, and download \`leadtap-client-${version}.tgz\`. In a new folder, install it with the path of that file:`,
          code: `npm install /path/to/leadtap/leadtap-client-${version}.tgz`,
        },
        { text: 'Save this as `leads.mjs`:', code: typeScriptProgram(baseUrl) },
        { text: 'Start it with your token:', code: "LEADTAP_TOKEN='<ACCESS_TOKEN>' node leads.mjs" },
      ],
      result:
        'The next new lead is in `leads.txt` within 2 minutes. If you stop and start the program, it continues where it stopped.',
    },
  ],
  notes: [
    'Leads at once: `newLeads({ baseUrl, token, checkpoint, instant: true })`.',
    'It retries after lost connections, 429 and 5xx, and stays within the rate limits.',
  ],
});

const python = ({ baseUrl }: Service): Platform => ({
  id: 'python',
  name: 'Python',
  summary: 'A program without dependencies',
  runs: 'on your machine',
  document: 'docs/integrations/your-own-program.md',
  setup: [],
  ways: [
    {
      title: '',
      steps: [
        { text: 'Install Python 3.8 or later. Save this as `leads.py`:', code: pythonProgram(baseUrl) },
        { text: 'Start it with your token:', code: "LEADTAP_TOKEN='<ACCESS_TOKEN>' python3 leads.py" },
      ],
      result:
        'It prints each new lead within 2 minutes. It keeps in `next-url.txt` how far it is, so it continues after a restart.',
    },
  ],
  notes: [
    'Put your own lines into `handle`. A page counts as done after all of it was handled: if `handle` fails, you get the page again.',
    'Any other language works the same way: follow the `Link` of each answer.',
  ],
});

const GUIDES: Readonly<Record<PlatformId, (service: Service) => Guide>> = {
  ...{ zapier, make, n8n, activepieces, pipedream, workato },
  'power-automate': powerAutomate,
  'node-red': nodeRed,
};

/** In the order of the tiles. */
export const platforms = (service: Service): readonly Platform[] => [
  ...PLATFORM_LIST.map(({ id, name, summary, runs }) => ({
    ...{ id, name, summary, runs, document: `docs/integrations/${id}.md` },
    ...GUIDES[id](service),
  })),
  ...[curl, typeScript, python].map((describe) => describe(service)),
];
