import type {
  ExecutionError,
  IDataObject,
  ITriggerFunctions,
  ITriggerResponse,
  Workflow,
  WorkflowActivateMode,
} from 'n8n-workflow';
import { followLeads, type Timing } from '../node/nodes/Leadtap/follow.ts';
import { LeadtapInstantTrigger } from '../node/nodes/Leadtap/LeadtapInstantTrigger.node.ts';
import { loadWorkflow, nodeFunctions, rememberedBy, type TriggerOptions } from './workflow.ts';

export interface InstantOptions extends TriggerOptions {
  /** Default: the time of n8n. */
  readonly timing?: Timing;
  /** Called with the leads of each execution that the trigger starts. */
  readonly onLeads?: (leads: IDataObject[]) => void;
  /** Saves static data; n8n begins to do so before it starts the workflow. */
  readonly store?: (write: () => void) => void;
}

/** A workflow with the instant trigger, as n8n runs it: its own classes, with what its server does around them. */
export interface InstantWorkflow {
  /** n8n saves what the node remembers afterwards. */
  activate(mode?: WorkflowActivateMode): Promise<void>;
  /** Somebody deactivates the workflow, or n8n stops. */
  deactivate(): Promise<void>;
  /** The process is killed. Another one begins with what was saved, when it is activated. */
  kill(): void;
  fetchTestEvent(): Promise<IDataObject[]>;
  /** The errors of failed executions that n8n shows. */
  readonly failedExecutions: ExecutionError[];
  /** The errors for which n8n activates the workflow again. */
  readonly emittedErrors: Error[];
  readonly warnings: string[];
  readonly remembered: IDataObject;
}

const trigger = new LeadtapInstantTrigger();

export function makeInstantWorkflow(options: InstantOptions): InstantWorkflow {
  const { credential, timing, onLeads = () => undefined, store = (write: () => void) => write() } = options;
  const failedExecutions: ExecutionError[] = [];
  const emittedErrors: Error[] = [];
  const warnings: string[] = [];
  let isActivating = false;
  let saved = '{}';
  let workflow = loadWorkflow(trigger, options, saved);
  let response: ITriggerResponse | undefined;

  const functions = (of: Workflow, mode: 'trigger' | 'manual', activation: WorkflowActivateMode) => {
    const shared = nodeFunctions(of, mode, credential);
    return {
      ...shared,
      getNodeParameter: (name: string) => {
        // n8n 2.34 or later: its expression engine has no context for a trigger that runs on after the activation.
        if (!isActivating && mode === 'trigger') throw new Error('No bridge acquired for this context');
        return shared.getNodeParameter?.(name);
      },
      getActivationMode: () => activation,
      logger: { warn: (text: string) => void warnings.push(text) },
      saveFailedExecution: (error: ExecutionError) => void failedExecutions.push(error),
      emitError: (error: Error) => void emittedErrors.push(error),
      emit: ([items = []]) => {
        // A process that was killed saves and starts nothing any more.
        if (of !== workflow) return;
        const written = JSON.stringify(of.staticData);
        store(() => {
          saved = written;
        });
        onLeads(items.map(({ json }) => json));
      },
    } as Partial<ITriggerFunctions> as ITriggerFunctions;
  };

  return {
    async activate(mode = 'activate') {
      workflow = loadWorkflow(trigger, options, saved);
      const context = functions(workflow, 'trigger', mode);
      isActivating = true;
      try {
        response = await (timing ? followLeads(context, timing) : trigger.trigger.call(context));
      } finally {
        isActivating = false;
      }
      saved = JSON.stringify(workflow.staticData);
    },
    async deactivate() {
      await response?.closeFunction?.();
    },
    kill() {
      workflow = loadWorkflow(trigger, options, saved);
      // The system closes the connections of a process that has ended.
      void response?.closeFunction?.();
    },
    async fetchTestEvent() {
      const context = functions(workflow, 'manual', 'manual');
      const shown = new Promise<IDataObject[]>((resolve) => {
        context.emit = ([items = []]) => resolve(items.map(({ json }) => json));
      });
      const { manualTriggerFunction } = await trigger.trigger.call(context);
      await manualTriggerFunction?.();
      return shown;
    },
    failedExecutions,
    emittedErrors,
    warnings,
    get remembered() {
      return rememberedBy(workflow);
    },
  };
}
