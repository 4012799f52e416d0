/** The tree as the compiler sees it: the members of a type, and where product code uses each. */
import { join, relative } from 'node:path'
import {
  type BindingElement,
  type InterfaceDeclaration,
  isBindingElement,
  isIdentifier,
  isInterfaceDeclaration,
  isMappedTypeNode,
  isPropertyAssignment,
  isPropertySignatureDeclaration,
  isTypeLiteralNode,
  type MappedTypeNode,
  type Node,
  type TypeLiteralNode,
} from 'typescript/unstable/ast'
import {
  API,
  type Symbol as Member,
  type NodeHandle,
  type Project,
  type Type,
} from 'typescript/unstable/sync'
import { product, ROOT, type Source } from './sources.ts'

/** Lines that the tree does not have: before the first occurrence of a text in a file, or at the end of the file. */
export interface Planted {
  readonly path: string
  readonly before?: string
  readonly text: string
}

/** Whether a node that names a member, in the file at `path`, is a use that counts. */
export type Counts = (node: Node, path: string) => boolean

export class Program {
  readonly #api: API
  readonly #project: Project
  readonly #sources: readonly Source[]

  constructor(planted: readonly Planted[]) {
    this.#sources = product.map((source) => planted.reduce(withPlant, source))
    const texts = new Map(this.#sources.map(({ path, text }) => [join(ROOT, path), text]))
    this.#api = new API({ cwd: ROOT, fs: { readFile: (file) => texts.get(file) } })
    const [project] = this.#api.updateSnapshot({ openProjects: ['tsconfig.json'] }).getProjects()
    if (project === undefined) throw new Error('tsconfig.json names no program')
    this.#project = project
  }

  close(): void {
    this.#api.close()
  }

  /** The type, or the type of the constant, that a file exports under this name. */
  exported(path: string, name: string): Type {
    const { checker } = this.#project
    const file = this.#file(path)
    const module = file && checker.getSymbolAtLocation(file)
    const symbol = module && checker.getMemberInModuleExports(module, name)
    if (symbol === undefined) throw new Error(`${path} exports no ${name}`)
    const declared = checker.getDeclaredTypeOfSymbol(symbol)
    return declared.isErrorType() ? this.typeOf(symbol) : declared
  }

  members(type: Type): readonly Member[] {
    return this.#project.checker.getPropertiesOfType(type)
  }

  typeOf(symbol: Member): Type {
    const type = this.#project.checker.getTypeOfSymbol(symbol)
    if (type === undefined) throw new Error(`${symbol.name} has no type`)
    return type
  }

  /** The objects in a type: among its alternatives, its items and the values of its maps. */
  objectsIn(type: Type): readonly Type[] {
    const { checker } = this.#project
    if (type.isUnionType()) return type.getTypes().flatMap((one) => this.objectsIn(one))
    if (!type.isObjectType() && !type.isIntersectionType()) return []
    if (type.isTypeReference() && checker.isArrayLikeType(type)) {
      return checker.getTypeArguments(type).flatMap((one) => this.objectsIn(one))
    }
    const values = checker.getIndexInfosOfType(type).map(({ valueType }) => valueType)
    return values.length === 0 ? [type] : values.flatMap((one) => this.objectsIn(one))
  }

  /** Whether product code uses a member of a type, looking first in files that have more of `words`. */
  isUsed(member: Member, owner: Type, words: readonly string[], counts: Counts): boolean {
    return (
      this.#isNamed(member, words, counts) ||
      this.#narrowed(owner, member.name).some((same) => this.#isNamed(same, [], counts)) ||
      this.#references(member).some((handle) => {
        const path = relative(ROOT, handle.path)
        const node = path.startsWith('test/') ? undefined : handle.resolve(this.#project)
        return node !== undefined && counts(node, path)
      })
    )
  }

  /** The nodes of the variable that is declared with this name. */
  variable(name: Node, path: string): readonly Node[] {
    const { checker } = this.#project
    const symbol = checker.getSymbolAtLocation(name)
    const found = symbol ? checker.getReferencesToSymbolInFile(join(ROOT, path), symbol) : []
    return found.flatMap((handle) => handle.resolve(this.#project) ?? [])
  }

  /** The nodes of one kind in all of product code. */
  *nodes<N extends Node>(wanted: (node: Node) => node is N, word: string): Generator<[N, string]> {
    for (const { path } of this.#filesWith(word, [])) {
      const file = this.#file(path)
      for (const node of file ? nodesIn(file, wanted) : []) yield [node, path]
    }
  }

  #isNamed(member: Member, words: readonly string[], counts: Counts): boolean {
    const { checker } = this.#project
    return this.#filesWith(member.name, words).some(({ path }) => {
      const found = checker.getReferencesToSymbolInFile(join(ROOT, path), member)
      const nodes = found.map((handle) => handle.resolve(this.#project))
      return [...nodes, ...this.#unpacked(path, member).map(({ name }) => name)].some(
        (node) => node !== undefined && counts(node, path),
      )
    })
  }

  /** The places of a file that take the member by `{ member }`, which the compiler counts for the variable alone. */
  #unpacked(path: string, member: Member): readonly BindingElement[] {
    const { checker } = this.#project
    const file = this.#file(path)
    if (file === undefined) return []
    return nodesIn(file, isBindingElement).filter((element) => {
      const taken = element.propertyName ?? element.name
      if (taken === undefined || !isIdentifier(taken) || taken.text !== member.name) return false
      const type = checker.getTypeAtLocation(element.parent)
      const property = type && checker.getPropertyOfType(type, member.name)
      return property !== undefined && isSame(property, member)
    })
  }

  /** The member in types that are written out for a part of the owner, or for the owner with more beside it. */
  #narrowed(owner: Type, name: string): readonly Member[] {
    const { checker } = this.#project
    const written = new RegExp(`\\b${name}\\??:`)
    return this.#filesWith(name, []).flatMap(({ path, text }) => {
      const file = written.test(text) ? this.#file(path) : undefined
      return (file === undefined ? [] : nodesIn(file, isWritten)).flatMap((node) => {
        const type = checker.getTypeAtLocation(isInterfaceDeclaration(node) ? node.name : node)
        const member = type && checker.getPropertyOfType(type, name)
        return type && member && this.#fits(owner, type) ? [member] : []
      })
    })
  }

  #fits(owner: Type, type: Type): boolean {
    const { checker } = this.#project
    if (checker.isTypeAssignableTo(owner, type)) return true
    const hasAll = this.members(owner).every(({ name }) => checker.getPropertyOfType(type, name))
    return hasAll && checker.isTypeAssignableTo(type, owner)
  }

  /** All references, also through spreads; it takes the compiler up to seconds for a name that is everywhere. */
  #references(member: Member): readonly NodeHandle[] {
    const declared = member.declarations[0]?.resolve(this.#project)
    if (declared === undefined) throw new Error(`${member.name} has no declaration`)
    const name =
      isPropertyAssignment(declared) || isPropertySignatureDeclaration(declared)
        ? declared.name
        : declared
    const entries = this.#project.checker.getReferencedSymbolsForNode(name, name.end - 1)
    return entries.flatMap(({ references }) => references)
  }

  #file(path: string) {
    return this.#project.program.getSourceFile(join(ROOT, path))
  }

  #filesWith(name: string, words: readonly string[]): readonly Source[] {
    const whole = new RegExp(`\\b${name}\\b`)
    const score = ({ text }: Source) => words.filter((word) => text.includes(word)).length
    return this.#sources
      .filter(({ text }) => whole.test(text))
      .sort((one, other) => score(other) - score(one))
  }
}

function withPlant(source: Source, { path, before, text }: Planted): Source {
  if (source.path !== path) return source
  const at = before === undefined ? source.text.length : source.text.indexOf(before)
  if (at === -1) throw new Error(`${path} has no ${before}`)
  return { path, text: `${source.text.slice(0, at)}${text}\n${source.text.slice(at)}` }
}

function isWritten(node: Node): node is InterfaceDeclaration | TypeLiteralNode | MappedTypeNode {
  return isInterfaceDeclaration(node) || isTypeLiteralNode(node) || isMappedTypeNode(node)
}

function isSame({ declarations: [one] }: Member, { declarations: [other] }: Member): boolean {
  return one !== undefined && one.path === other?.path && one.index === other.index
}

function nodesIn<N extends Node>(top: Node, wanted: (node: Node) => node is N): readonly N[] {
  const found: N[] = wanted(top) ? [top] : []
  top.forEachChild((child) => {
    found.push(...nodesIn(child, wanted))
  })
  return found
}
