/** The alerts of the chart, and the commands of their page. */
import { parse } from 'yaml'
import { readChart } from './chart.ts'

export interface Rule {
  readonly alert: string
  readonly expr: string
  readonly annotations: Readonly<Record<string, string>>
}

export const RULES: readonly Rule[] = parse(readChart('files/alerts.yaml')).groups.flatMap(
  (group: { rules: Rule[] }) => group.rules,
)

const [introduction = '', ...parts] = readChart('docs/alerts.md').split(/^## /m)

/** The part of each alert, by its heading. */
export const SECTIONS: ReadonlyMap<string, string> = new Map(
  parts.map((part) => [part.slice(0, part.indexOf('\n')), part]),
)

/** Commands that end with 1 if they find a fault, as the page says: `gw why`. */
export const END_WITH_1: readonly string[] = [
  ...(/([^.]*) end with 1 /s.exec(introduction)?.[1] ?? '').matchAll(/`(gw [^`]+)`/g),
].map(([, command = '']) => command)

export function commandsOf(part: string): string[] {
  const block = /```sh\n([\s\S]*?)```/.exec(part)?.[1] ?? ''
  return block.split('\n').filter((line) => line !== '')
}

/** The words in capitals, and the labels of the alert that they are. */
const LABELS: Readonly<Record<string, (labels: Labels) => string | undefined>> = {
  NS: ({ namespace }) => namespace,
  NAME: ({ gateway }) => gateway,
  ROUTE: ({ route }) => route,
  UPSTREAM: ({ upstream }) => upstream,
  TENANT: ({ tenant }) => tenant,
  LIMIT: ({ limit, budget }) => limit ?? budget?.replace(/^limit:/, ''),
}

type Labels = Readonly<Record<string, string>>

/** A command of the page with the labels of an alert. Throws if the alert has no label for a word. */
export function filled(command: string, labels: Labels): string {
  return command.replaceAll(/\b[A-Z]{2,}\b/g, (word) => {
    const label = LABELS[word]?.(labels)
    if (label === undefined)
      throw new Error(`No label is ${word} of "${command}": ${JSON.stringify(labels)}.`)
    return label
  })
}
