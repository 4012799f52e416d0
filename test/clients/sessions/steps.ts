/** A session of an agent, independent of the API: its prompts, and the model's calls. */

export const STEPS = [
  ...(['read', 'edit', 'run', 'parallel', 'large', 'picture', 'compaction'] as const),
  ...(['abort', 'resume'] as const),
]
export type Step = (typeof STEPS)[number]
/** `strict`: the upstream received nothing that its vendor refuses. */
export const JUDGED = [...STEPS, 'strict'] as const
export type Judged = (typeof JUDGED)[number]

/** One run of the agent each; all but the first continue the session. */
export const TASKS = ['work', 'look', 'compact', 'abort', 'resume'] as const
export type Task = (typeof TASKS)[number]

/** An act of a model, without the names of a client's tools. */
export type Deed =
  | { readonly kind: 'read'; readonly path: string }
  | { readonly kind: 'look'; readonly path: string }
  | { readonly kind: 'edit'; readonly path: string; readonly old: string; readonly new: string }
  | { readonly kind: 'run'; readonly command: string }

export const NOTES = 'notes.txt'
export const BIG = 'big.txt'
export const PAINTED = 'picture.png'
export const PARALLEL = ['part-1.txt', 'part-2.txt', 'part-3.txt'] as const
/** The contents of the files, and the output of a command. */
export const WORDS = {
  notes: 'The fox sleeps.',
  old: 'colour: red',
  new: 'colour: blue',
  ran: 'ran-7d1f',
  ranFile: 'ran.txt',
} as const
export const wordOfPart = (path: string) => `word of ${path}`
/** Lines of 50 letters: 200 kB. */
export const BIG_LINES = 4000
export const bigLine = (at: number) => `line-${String(at).padStart(5, '0')}-${'x'.repeat(38)}`
export const SUMMARY = 'All that came before, in short: notes.txt is blue now.'

/** The last word of a prompt identifies it. */
export const promptOf = (task: Task) => `Do what the plan has next, which is gw:${task}`
export const doneWith = (task: Task) => `gw-done-${task}`

/** The calls of one answer each. `root`: the agent's folder, with a slash at the end. */
export function plan(task: Task, root: string): readonly (readonly Deed[])[] {
  if (task === 'work')
    return [
      [{ kind: 'read', path: root + NOTES }],
      [{ kind: 'edit', path: root + NOTES, old: WORDS.old, new: WORDS.new }],
      [{ kind: 'run', command: `echo ${WORDS.ran} | tee ${root}${WORDS.ranFile}` }],
      PARALLEL.map((path) => ({ kind: 'read', path: root + path })),
      [{ kind: 'read', path: root + BIG }],
    ]
  return task === 'look' ? [[{ kind: 'look', path: root + PAINTED }]] : []
}
