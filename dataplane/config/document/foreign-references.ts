/** References to variables in the forms of other programs, as the gateway writes them. */
import { isRecord } from '../../json/values.ts'
import { type Finding, type Path, refuse } from '../judgement/problems.ts'

const NAME = '[A-Za-z_][A-Za-z0-9_]*'

/** Whole texts: LiteLLM, shells and agentgateway, Bifrost, Node, templates of Helm and CI. */
const FORMS: readonly RegExp[] = [
  new RegExp(`^os\\.environ/(${NAME})$`),
  new RegExp(`^os\\.environ\\[["'](${NAME})["']\\]$`),
  new RegExp(`^\\$(?:env:)?(${NAME})$`),
  new RegExp(`^\\$\\{(?:env\\.)?(${NAME})(?::?-[^}]*)?\\}$`),
  new RegExp(`^env\\.(${NAME})$`),
  new RegExp(`^process\\.env\\.(${NAME})$`),
  new RegExp(`^\\{\\{ ?(?:env\\.|\\$)?(${NAME}) ?\\}\\}$`),
  new RegExp(`^%(${NAME})%$`),
]

/** `${env:NAME}` for a text that is such a reference, or has one behind a scheme such as `Bearer`. */
export function ownReference(text: string): string | undefined {
  const [, scheme = '', rest = ''] = /^([A-Za-z]+ +)?(.*)$/s.exec(text.trim()) ?? []
  for (const form of FORMS) {
    const name = form.exec(rest)?.[1]
    if (name !== undefined) return `${scheme}\${env:${name}}`
  }
  return undefined
}

/** Forms that are no other value; the last ones need a name in capitals. */
const CERTAIN =
  /^(?:[A-Za-z]+ +)?(?:os\.environ|process\.env\.|\{\{|\$(?:env:)?[A-Z][A-Z0-9_]*$|env\.[A-Z][A-Z0-9_]*$|%[A-Z][A-Z0-9_]*%$)/

/** References in the forms of other programs: the gateway would send them as they are. */
export function refuseForeign(value: unknown, path: Path): Finding[] {
  if (typeof value === 'string') {
    if (value.includes('${') || !CERTAIN.test(value)) return []
    const own = ownReference(value)
    const message = 'is a reference in the form of another program'
    return own === undefined ? [] : [refuse(path, message, `Write ${own}.`)]
  }
  if (Array.isArray(value))
    return value.flatMap((entry, index) => refuseForeign(entry, [...path, index]))
  if (!isRecord(value)) return []
  return Object.entries(value).flatMap(([name, entry]) =>
    // Examples are texts of people.
    name === 'exemplars' ? [] : refuseForeign(entry, [...path, name]),
  )
}
