import {
  type ICredentialDataDecryptedObject,
  type IDataObject,
  type INode,
  type INodeExecutionData,
  type INodeParameters,
  type INodeType,
  type IPollFunctions,
  Workflow,
  type WorkflowExecuteMode,
} from 'n8n-workflow';
import { LeadtapTrigger } from '../node/nodes/Leadtap/LeadtapTrigger.node.ts';
import { httpRequest } from './requests.ts';

export interface TriggerOptions {
  readonly credential: { readonly baseUrl: string; readonly accessToken: string };
  readonly parameters?: INodeParameters;
  readonly timezone?: string;
}

/** An active workflow with our trigger, as n8n runs it: its own classes, with what its server does around them. */
export interface ActiveWorkflow {
  /** The first poll. n8n saves what the node remembers afterwards. */
  activate(): Promise<IDataObject[]>;
  /** One of the polls after it. n8n saves what the node remembers only together with leads that it hands on. */
  poll(): Promise<IDataObject[]>;
  /** What the editor shows for “Fetch test event”. */
  fetchTestEvent(): Promise<IDataObject[]>;
  /** The process ends, and another one begins with what was saved. */
  restart(): void;
  /** The user saves other settings. */
  change(parameters: INodeParameters): void;
  readonly remembered: IDataObject;
}

const trigger = new LeadtapTrigger();

/** A workflow with one node, and what was saved of it. */
export function loadWorkflow(
  nodeType: INodeType,
  { timezone = 'UTC', parameters = {} }: Pick<TriggerOptions, 'timezone' | 'parameters'>,
  saved: string,
): Workflow {
  const { displayName, name } = nodeType.description;
  const node: INode = {
    id: 'the-node',
    name: displayName,
    type: `n8n-nodes-leadtap.${name}`,
    typeVersion: 1,
    position: [0, 0],
    parameters,
  };
  const nodeTypes = {
    getByName: () => nodeType,
    getByNameAndVersion: () => nodeType,
    getKnownTypes: () => ({}),
  };
  const staticData: IDataObject = JSON.parse(saved);
  const settings = { timezone };
  return new Workflow({ nodes: [node], connections: {}, active: true, nodeTypes, settings, staticData });
}

const leadsOf = (items: INodeExecutionData[][] | null): IDataObject[] =>
  (items ?? []).flat().map(({ json }) => json);

export function makeWorkflow(options: TriggerOptions): ActiveWorkflow {
  let parameters = options.parameters ?? {};
  let saved = '{}';
  let workflow = load();

  function load(): Workflow {
    return loadWorkflow(trigger, { ...options, parameters }, saved);
  }
  const save = () => {
    saved = JSON.stringify(workflow.staticData);
  };
  const run = async (mode: 'trigger' | 'manual') => {
    const items = await trigger.poll.call(
      nodeFunctions(workflow, mode, options.credential) as IPollFunctions,
    );
    return { items, leads: leadsOf(items) };
  };

  return {
    async activate() {
      const { leads } = await run('trigger');
      save();
      return leads;
    },
    async poll() {
      const { items, leads } = await run('trigger');
      if (items !== null) save();
      return leads;
    },
    fetchTestEvent: async () => (await run('manual')).leads,
    restart() {
      workflow = load();
    },
    change(changed) {
      save();
      parameters = changed;
      workflow = load();
    },
    get remembered() {
      return rememberedBy(workflow);
    },
  };
}

function onlyNode({ nodes }: Workflow): INode {
  const [node] = Object.values(nodes);
  if (!node) throw new Error('the workflow has no node');
  return node;
}

export const rememberedBy = (workflow: Workflow): IDataObject => ({
  ...workflow.getStaticData('node', onlyNode(workflow)),
});

/** What n8n calls a trigger with, as far as both of ours use it. */
export function nodeFunctions(
  workflow: Workflow,
  mode: WorkflowExecuteMode,
  credential: ICredentialDataDecryptedObject,
): Partial<IPollFunctions> {
  const node = onlyNode(workflow);
  const parameter = (name: string) =>
    workflow.expression.getParameterValue(node.parameters[name] ?? '', null, 0, 0, node.name, [], mode, {});
  return {
    getMode: () => mode,
    getNode: () => node,
    getTimezone: () => workflow.timezone,
    getNodeParameter: parameter,
    getWorkflowStaticData: (type) => workflow.getStaticData(type, node),
    getCredentials: async <T extends object>() => credential as T,
    helpers: {
      httpRequest,
      returnJsonArray: (data) => (Array.isArray(data) ? data : [data]).map((json) => ({ json })),
    } as IPollFunctions['helpers'],
  };
}
