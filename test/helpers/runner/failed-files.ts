/** A reporter for Node's test runner: a line of JSON for each test that failed; meanwhile it prints the progress. */
import { type Reported, startProgress } from './progress.ts'

export interface FailedTest {
  readonly file: string
  readonly name: string
  /** The first line of the error. */
  readonly error: string
}

async function* failedTests(events: AsyncIterable<Reported>): AsyncGenerator<string> {
  const progress = startProgress()
  for await (const event of events) {
    progress.hear(event)
    const { type, data } = event
    // `file` is where `test` was called, which may be a module that several tests share; `entryFile` is the file that
    // was run.
    const file = data.entryFile ?? data.file
    if (type !== 'test:fail' || file === undefined) continue
    const { message = '' } = data.details?.error?.cause ?? data.details?.error ?? {}
    const error = String(message).trim().split('\n')[0] ?? ''
    yield `${JSON.stringify({ file, name: data.name ?? '', error } satisfies FailedTest)}\n`
  }
  progress.end()
}

/** The runner takes the default export of a reporter. */
export { failedTests as default }
