/** The part of a WebSocket's opening request that its messages need. */
import type { Incoming } from '../../call/call.ts'
import { headerIn } from '../../http1/header-lines.ts'

export class Greeting {
  readonly url: string
  readonly pathModel: string | undefined
  readonly rawHeaders: readonly string[]

  constructor({ url, pathModel, rawHeaders }: Pick<Incoming, 'url' | 'pathModel' | 'rawHeaders'>) {
    this.url = url
    this.pathModel = pathModel
    this.rawHeaders = rawHeaders
  }

  header(name: string): string | undefined {
    return headerIn(this.rawHeaders, name)
  }
}
