/** A reporter for Node's test runner: the file of each test that failed, one a line. */
interface Reported {
  readonly type: string
  /** `file` is where `test` was called, which may be a module that several tests share; `entryFile` is what was run. */
  readonly data: { readonly file?: string; readonly entryFile?: string }
}

async function* failedFiles(events: AsyncIterable<Reported>): AsyncGenerator<string> {
  for await (const { type, data } of events) {
    const file = data.entryFile ?? data.file
    if (type === 'test:fail' && file !== undefined) yield `${file}\n`
  }
}

/** The runner takes the default export of a reporter. */
export { failedFiles as default }
