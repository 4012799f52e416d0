/** The rules of the tree, checked on the files themselves. Each failure names the file and what to do. */
import './tidy/dead.ts'
import './tidy/foreign-json.ts'
import './tidy/imports.ts'
import './tidy/plugins.ts'
import './tidy/rooms.ts'
import './tidy/shape.ts'
import './tidy/texts.ts'
import './tidy/type-names.ts'
