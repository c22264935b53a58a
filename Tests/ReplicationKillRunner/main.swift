import Foundation
import MakoReplication
import MakoStorage

/// `CYCLES [SEED]` kills processes that write, follow and restore. `write|follow|restore FILE OBJECTS LIFE DEATH PROMOTION` are these processes.
let words = Array(CommandLine.arguments.dropFirst())
do {
    if words.count == 6, let id = UInt64(words[3]), let death = Int(words[4]) {
        let objects = LethalObjects(try FolderObjectStore(at: words[2]), death: death)
        let life = Life(id: id)
        switch words[0] {
        case "write": try WriterProcess(life: life, path: words[1], objects: objects).run()
        case "follow":
            try FollowerProcess(life: life, path: words[1], objects: objects, promotion: Double(words[5])).run()
        default: try RestoringProcess(path: words[1], objects: objects).run()
        }
    }
    guard let cycles = words.first.flatMap({ Int($0) }), words.count <= 2 else {
        print("usage: ReplicationKillRunner CYCLES [SEED]")
        exit(2)
    }
    let seed = words.count > 1 ? UInt64(words[1]) ?? 1 : UInt64.random(in: 1...999_999)
    try Trial(program: Bundle.main.executablePath ?? CommandLine.arguments[0], cycles: cycles, seed: seed).run()
} catch {
    print("failed: \(error)")
    exit(1)
}
