/** A reporter for Node's test runner: the file of each test that failed, one a line; meanwhile it prints the progress. */
import { type Reported, startProgress } from './progress.ts'

async function* failedFiles(events: AsyncIterable<Reported>): AsyncGenerator<string> {
  const progress = startProgress()
  for await (const event of events) {
    progress.hear(event)
    const { type, data } = event
    // `file` is where `test` was called, which may be a module that several tests share; `entryFile` is what was run.
    const file = data.entryFile ?? data.file
    if (type === 'test:fail' && file !== undefined) yield `${file}\n`
  }
  progress.end()
}

/** The runner takes the default export of a reporter. */
export { failedFiles as default }
