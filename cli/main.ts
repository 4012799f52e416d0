#!/usr/bin/env node
/** The tool `gw`. What it consists of is loaded once compiled code can be kept for the next start. */
import { keepCompiled } from '../dataplane/compile-cache.ts'

keepCompiled(process.env)
const { main } = await import('./program.ts')
await main()
