import { existsSync } from 'node:fs';
import { type Config, describeDatabase } from '../../config.ts';
import { type OpenStoreOptions, openStore } from '../../open-store.ts';
import { type AccountCounts, SchemaVersionError, type Store } from '../../store/store.ts';

export interface InstallationFacts {
  readonly database: string;
  /** The file, or the variable that holds the key. */
  readonly signingKey: string;
}

/** Which database and key `serve` uses, and whether it has just made them: a mistyped path makes new ones. */
export class Installation {
  readonly #config: Config;
  readonly #keyFile: string | undefined;
  readonly #keyIsNew: boolean;
  #databaseIsNew = false;
  #store: Store | undefined;

  /** Before anything is opened. */
  constructor(config: Config) {
    this.#config = config;
    this.#keyFile = 'file' in config.signingKey ? config.signingKey.file : undefined;
    this.#keyIsNew = this.#keyFile !== undefined && !existsSync(this.#keyFile);
  }

  readonly open = async (config: Config, options: OpenStoreOptions = {}): Promise<Store> => {
    try {
      this.#store = await openStore(config, { ...options, create: false });
    } catch (error) {
      if (!(error instanceof SchemaVersionError) || error.found !== 0 || !config.autoMigrate) throw error;
      this.#store = await openStore(config, options);
      this.#databaseIsNew = true;
    }
    return this.#store;
  };

  facts(): InstallationFacts {
    return {
      database: describeDatabase(this.#config.database),
      signingKey: this.#keyFile ?? 'LEADTAP_SIGNING_KEY',
    };
  }

  /** Takes long with a million users. Undefined if the store cannot count, or fails to, or the signal is aborted. */
  async countAccounts(signal: AbortSignal): Promise<AccountCounts | undefined> {
    return this.#store?.countAccounts?.(signal).catch(() => undefined);
  }

  /** A sentence for each thing that was made at this start, also if it failed. */
  warnings(): string[] {
    const database = describeDatabase(this.#config.database);
    return [
      ...(this.#databaseIsNew
        ? [
            `made a new, empty database: ${database}. If there should be one already, check LEADTAP_DATABASE_URL and the folder`,
          ]
        : []),
      ...(this.#keyIsNew && this.#keyFile !== undefined && existsSync(this.#keyFile)
        ? [`made a new signing key: ${this.#keyFile}. Tokens that were signed with another key are refused`]
        : []),
    ];
  }
}
