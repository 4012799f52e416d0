/** The shapes as tables of a page: each member with its path and type. */
import { z } from 'zod'
import { SHAPES, variantsOf } from './index.ts'

interface Node {
  readonly type?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, Node>>
  readonly required?: readonly string[]
  readonly items?: Node
  readonly additionalProperties?: Node | boolean
  readonly anyOf?: readonly Node[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
}

export function shapesPage(): string {
  const sections = Object.entries(SHAPES).flatMap(([command, shape]) =>
    variantsOf(shape).map(([name, schema]) => {
      const title = name === '' ? `### \`gw ${command}\`` : `### \`gw ${command}\`, ${name}`
      return `${title}\n\n${tableOf(schema)}`
    }),
  )
  return sections.join('\n\n')
}

function tableOf(schema: z.ZodType): string {
  const root = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Node
  const { path, node } = elementOf('', root)
  const rows = rowsOf(node, path === '' ? '' : `${path}.`)
  return ['| member | type |', '| --- | --- |', ...rows].join('\n')
}

function rowsOf({ properties = {}, required = [], additionalProperties }: Node, above: string) {
  const any = typeof additionalProperties === 'object' ? additionalProperties : {}
  const named = Object.keys(any).length === 0 ? [] : [['NAME', any] as const]
  return [...Object.entries(properties), ...named].flatMap(([name, given]): string[] => {
    const { path, node } = elementOf(`${above}${name}`, known(given))
    const isOptional = name !== 'NAME' && (!required.includes(name) || given !== known(given))
    const meaning = given.description ?? node.description
    const type = `${typeOf(node)}${isOptional ? ', may be absent' : ''}`
    const row = `| \`${path}\` | ${meaning === undefined ? type : `${type}: ${meaning}`} |`
    return [row, ...rowsOf(node, `${path}.`)]
  })
}

/** `pods[]` and the node of one of them. */
function elementOf(path: string, node: Node): { readonly path: string; readonly node: Node } {
  if (node.type !== 'array' || node.items === undefined) return { path, node }
  return elementOf(`${path}[]`, known(node.items))
}

/** Null means the same as an absent member. */
function known(node: Node): Node {
  const others = node.anyOf?.filter(({ type }) => type !== 'null')
  return others?.length === 1 && others[0] !== undefined ? others[0] : node
}

function typeOf(node: Node): string {
  if (node.const !== undefined) return `\`${node.const}\``
  if (node.enum !== undefined) return node.enum.map((value) => `\`${value}\``).join(' or ')
  if (node.anyOf !== undefined) return node.anyOf.map(typeOf).join(' or ')
  return node.type === 'integer' ? 'number' : (node.type ?? 'any')
}
