import type { Clock } from 'leadtap';
import { Client } from 'pg';

/** The first key of a lock for each question, which is held until it is answered; so many are held in advance. */
const UNANSWERED = 20_260_302;
const IN_ADVANCE = 16;

/**
 * The database asks the test for the time whenever it would read its own clock. Sequences count outside of transactions,
 * so the test sees a question while the transaction that asks it is still running. A cancelled sleep wakes the listener,
 * and releasing an advisory lock wakes the transaction that waits for the answer. Within a transaction an answer is
 * reused until another transaction asks: until then, no reader could notice that time has passed.
 */
const askingClock = (listener: number) => `
CREATE SCHEMA leadtap_test;
CREATE SEQUENCE leadtap_test.questions;
CREATE UNLOGGED TABLE leadtap_test.answers (question bigint PRIMARY KEY, ms bigint NOT NULL);
GRANT USAGE ON SCHEMA leadtap_test TO PUBLIC;
GRANT USAGE ON SEQUENCE leadtap_test.questions TO PUBLIC;
GRANT SELECT ON leadtap_test.answers TO PUBLIC;

CREATE FUNCTION leadtap_test.last_question() RETURNS bigint LANGUAGE sql VOLATILE
  RETURN coalesce(pg_sequence_last_value('leadtap_test.questions'), 0);

CREATE FUNCTION leadtap_test.next_question(answered bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  WHILE leadtap_test.last_question() <= answered LOOP
    BEGIN
      PERFORM pg_sleep(0.1);
    EXCEPTION WHEN query_canceled THEN
      NULL;
    END;
  END LOOP;
  RETURN leadtap_test.last_question();
END $$;

CREATE FUNCTION leadtap_test.ask() RETURNS bigint LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET lock_timeout = 0 AS $$
DECLARE
  asked bigint := nextval('leadtap_test.questions');
  answer bigint;
BEGIN
  PERFORM pg_cancel_backend(${listener});
  PERFORM pg_advisory_lock_shared(${UNANSWERED}, asked::integer);
  PERFORM pg_advisory_unlock_shared(${UNANSWERED}, asked::integer);
  FOR tries IN 1..200000 LOOP
    SELECT ms INTO answer FROM leadtap_test.answers WHERE question = asked;
    IF FOUND THEN
      PERFORM set_config('leadtap_test.known', asked || ' ' || answer, true);
      RETURN answer;
    END IF;
    -- So many ask at once that this one had no lock to wait for.
    PERFORM pg_sleep(0.001);
  END LOOP;
  RAISE 'the clock of the test does not answer; it can do so in READ COMMITTED only';
END $$;

CREATE OR REPLACE FUNCTION leadtap.clock_ms() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  known bigint[] := string_to_array(current_setting('leadtap_test.known', true), ' ');
BEGIN
  IF known[1] = leadtap_test.last_question() THEN
    RETURN known[2];
  END IF;
  RETURN leadtap_test.ask();
END $$;`;

/** Lets a database tell the time by a clock of the test. */
export class PostgresClock {
  readonly #url: string;
  #source: Clock = () => 0;
  #installed: Promise<void> | undefined;

  constructor(url: string) {
    this.#url = url;
  }

  async use(source: Clock): Promise<void> {
    this.#source = source;
    this.#installed ??= this.#install();
    await this.#installed;
  }

  async stop(at: number): Promise<void> {
    const client = await this.#connect();
    await client.query(
      `CREATE OR REPLACE FUNCTION leadtap.clock_ms() RETURNS bigint LANGUAGE sql VOLATILE RETURN ${at}::bigint`,
    );
    await client.end();
  }

  async #install(): Promise<void> {
    const [listening, answering] = [await this.#connect(), await this.#connect()];
    const { rows } = await listening.query('SELECT pg_backend_pid() AS pid');
    await answering.query(askingClock(rows[0].pid));
    await answering.query(
      `SELECT pg_advisory_lock(${UNANSWERED}, n) FROM generate_series(1, ${IN_ADVANCE}) AS n`,
    );
    // Until the end of the test, when the database is dropped together with its connections.
    this.#answer(listening, answering).catch(() => undefined);
  }

  async #answer(listening: Client, answering: Client): Promise<never> {
    for (let answered = 0; ; ) {
      const asked = await nextQuestion(listening, answered);
      while (answered < asked) {
        answered += 1;
        await answering.query(answerTo(answered, this.#source()));
      }
    }
  }

  async #connect(): Promise<Client> {
    const client = new Client({ connectionString: this.#url });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }
}

/** Committed before its lock is released. */
const answerTo = (question: number, ms: number): string => `
  BEGIN;
  INSERT INTO leadtap_test.answers VALUES (${question}, ${ms});
  COMMIT;
  SELECT pg_advisory_unlock(${UNANSWERED}, ${question}), pg_advisory_lock(${UNANSWERED}, ${question + IN_ADVANCE})`;

const CANCELLED = '57014';

/** Woken a little too early or too late, it is asked again. */
async function nextQuestion(client: Client, answered: number): Promise<number> {
  try {
    const { rows } = await client.query('SELECT leadtap_test.next_question($1) AS question', [answered]);
    return Number(rows[0].question);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === CANCELLED) return answered;
    throw error;
  }
}
