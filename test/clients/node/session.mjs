/** The common part of all SDK sessions: their tools, the order of the tasks, and the output. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'

const args = JSON.parse(process.argv[2])
export const api = process.argv[3]
export const version = process.argv[4]
export const { url, key: apiKey, model } = args
export const baseURL = `${url}/v1`

export const readFile = ({ path }) => readFileSync(path, 'utf8')
export const doRun = ({ command }) => execFileSync('sh', ['-c', command], { encoding: 'utf8' })
export const lookAt = ({ path }) => readFileSync(path, 'base64')
export function editFile({ path, old_text, new_text }) {
  writeFileSync(path, readFileSync(path, 'utf8').replace(old_text, new_text))
  return 'edited'
}

/**
 * `turn(prompt, heard, picture)` continues the session, and stops when `heard` returns true; `restart(text)` starts a
 * new one from a summary. Clients whose tools cannot return a picture send this one.
 */
export async function play({ turn, restart }) {
  const { prompts, root } = args
  const tasks = {
    work: () => turn(prompts.work),
    look: () => turn(prompts.look, undefined, lookAt({ path: `${root}picture.png` })),
    async compact() {
      const summary = await turn(`${prompts.compact}: write a summary of all that came before.`)
      restart(`What came before: ${summary}`)
      return summary
    },
    abort: () => turn(prompts.abort, (text) => text.length > 20),
    resume: () => turn(prompts.resume),
  }
  const shown = {}
  for (const [task, run] of Object.entries(tasks)) {
    try {
      shown[task] = { text: await run() }
    } catch (error) {
      shown[task] = { error: `${error.name}: ${error.message}`.slice(0, 500) }
    }
  }
  process.stdout.write(`\n${JSON.stringify(shown)}\n`, () => process.exit(0))
}
