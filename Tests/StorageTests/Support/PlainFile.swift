import MakoStorage
import MakoTestSupport

/// Reads bytes only as `docs/format.md` describes them, without code of the engine.
struct PlainBytes {
    struct Unreadable: Error, CustomStringConvertible {
        let description: String
    }

    let bytes: [UInt8]

    /// A number of up to eight bytes, little-endian.
    func number(_ offset: Int, _ count: Int) throws -> UInt64 {
        try slice(offset, count).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    func int(_ offset: Int, _ count: Int) throws -> Int { Int(truncatingIfNeeded: try number(offset, count)) }

    func slice(_ offset: Int, _ count: Int) throws -> ArraySlice<UInt8> {
        guard offset >= 0, count >= 0, count <= bytes.count, offset <= bytes.count - count else {
            throw Unreadable(description: "out of bounds: at \(offset), \(count) bytes")
        }
        return bytes[offset..<offset + count]
    }

    /// Section "Checksums".
    func checksum(_ offset: Int, _ count: Int, seed: UInt64) throws -> UInt64 {
        let k: [UInt64] = [0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db, 0x8ebc_6af0_9c88_c6e3, 0x5899_65cc_7537_4cc3]
        var a = seed ^ k[0]
        var b = PlainBytes.mix(seed ^ k[1], UInt64(count) ^ k[2])
        var place = offset
        var left = count
        while left >= 32 {
            a = PlainBytes.mix(try number(place, 8) ^ k[1], try number(place + 8, 8) ^ a)
            b = PlainBytes.mix(try number(place + 16, 8) ^ k[2], try number(place + 24, 8) ^ b)
            place += 32
            left -= 32
        }
        while left >= 8 {
            a = PlainBytes.mix(try number(place, 8) ^ k[3], a ^ k[1])
            place += 8
            left -= 8
        }
        if left > 0 { b = PlainBytes.mix(try number(place, left) ^ k[3], b ^ k[2]) }
        return PlainBytes.mix(PlainBytes.mix(a ^ k[0], b ^ k[3]), k[1] ^ UInt64(count))
    }

    static func mix(_ a: UInt64, _ b: UInt64) -> UInt64 {
        let product = a.multipliedFullWidth(by: b)
        return (a ^ product.low) ^ (b ^ product.high)
    }

    /// Unpacks a block as lz4_Block_format.md describes it: a token, literals, and a match that may overlap what it makes.
    static func unpacked(_ block: ArraySlice<UInt8>, count: Int) throws -> [UInt8] {
        var out: [UInt8] = []
        var rest = block
        func next() throws -> Int {
            guard let byte = rest.popFirst() else { throw Unreadable(description: "a packed block ends early") }
            return Int(byte)
        }
        func length(_ start: Int) throws -> Int {
            guard start == 15 else { return start }
            var length = start
            while true {
                let more = try next()
                length += more
                if more < 255 { return length }
            }
        }
        while out.count < count {
            let token = try next()
            for _ in 0..<(try length(token >> 4)) { out.append(UInt8(try next())) }
            if rest.isEmpty { break }
            let distance = try next() | (try next()) << 8
            guard distance > 0, distance <= out.count else { throw Unreadable(description: "a match before the start") }
            for _ in 0..<(try length(token & 15)) + 4 { out.append(out[out.count - distance]) }
        }
        guard out.count == count else { throw Unreadable(description: "a packed block has another length") }
        return out
    }
}

/// The data file as one of its checkpoints shows it.
struct PlainFile {
    private static let pageBytes = 4096
    private let file: PlainBytes
    private let seed: UInt64
    private let meta: Int
    let id: ArraySlice<UInt8>
    let content: ModelStore
    /// The names of trees by their numbers.
    let names: [UInt32: String]

    init(_ bytes: [UInt8]) throws {
        file = PlainBytes(bytes: bytes)
        let header = try PlainFile.newest([0, 1], by: 112, in: file, seed: 0)
        guard try file.slice(header + 40, 8).elementsEqual("MakoDB00".utf8), try file.number(header + 48, 4) == 1,
            try file.number(header + 52, 4) == 4096, try file.number(header + 72, 8) & ~27 == 0
        else { throw PlainBytes.Unreadable(description: "the header is of another format") }
        id = try file.slice(header + 56, 16)
        seed = PlainBytes.mix(
            try file.number(header + 56, 8) ^ 0x6d61_6b6f, try file.number(header + 64, 8) ^ 0x2d64_625f)
        meta = try PlainFile.newest([2, 3, 4, 5], by: 40, in: file, seed: seed)
        (content, names) = try PlainFile.Directory(file: file, seed: seed, meta: meta).read()
    }

    /// The place in the log behind the checkpoint, and its chain value there.
    func logStart() throws -> (lsn: Int, chain: UInt64) {
        (try file.int(meta + 64, 8), try file.number(meta + 72, 8))
    }

    /// The value whose pages a list in the log names.
    func named(_ list: [UInt8]) throws -> [UInt8] {
        try PlainFile.Directory(file: file, seed: seed, meta: meta).named(list)
    }

    /// The offset of the sound page with the largest number at a place.
    private static func newest(_ pages: [Int], by place: Int, in file: PlainBytes, seed: UInt64) throws -> Int {
        var best: (number: UInt64, offset: Int)?
        for page in pages {
            let offset = page * pageBytes
            guard try isSealed(file, page, seed: seed) else { continue }
            let number = try file.number(offset + place, 8)
            if number > best?.number ?? 0 { best = (number, offset) }
        }
        guard let best else { throw PlainBytes.Unreadable(description: "none of the pages \(pages) is sound") }
        return best.offset
    }

    private static func isSealed(_ file: PlainBytes, _ page: Int, seed: UInt64) throws -> Bool {
        let seed = seed ^ UInt64(page) &* 0x9e37_79b9_7f4a_7c15
        return try file.number(page * pageBytes, 8)
            == file.checksum(page * pageBytes + 8, pageBytes - 8, seed: seed)
    }
}

extension PlainFile {
    /// The directory that a meta page refers to.
    private struct Directory {
        let file: PlainBytes
        let seed: UInt64
        let meta: Int

        func read() throws -> (ModelStore, [UInt32: String]) {
            let run = try Run(
                page: file.int(meta + 88, 8), writeID: file.number(meta + 96, 8), length: file.int(meta + 104, 8))
            let list = PlainBytes(bytes: try body(of: run, type: 7))
            var place = try file.int(meta + 112, 8) * 9
            var store = ModelStore()
            var names: [UInt32: String] = [:]
            while place < list.bytes.count {
                let length = try list.int(place + 6, 2)
                let kind: KeyKind = try list.number(place + 4, 1) & 127 == 1 ? .integer : .bytes
                let isCounted = try list.number(place + 4, 1) > 127
                let name = String(decoding: try list.slice(place + 24, length), as: UTF8.self)
                names[UInt32(try list.number(place, 4))] = name
                store.createTree(name, kind)
                let count = try list.int(place + 16, 8)
                if try list.number(place + 5, 1) > 0 {
                    let reference = try list.number(place + 8, 8)
                    let traversed = try traverse(reference, isCounted) { store.put($1, for: $0, in: name) }
                    guard traversed == count else {
                        throw PlainBytes.Unreadable(description: "tree \(name) has \(traversed) entries")
                    }
                }
                guard store.trees[name]?.count == count else {
                    throw PlainBytes.Unreadable(description: "tree \(name) does not hold \(count) entries")
                }
                place += 24 + length
            }
            return (store, names)
        }

        /// Consecutive pages with consecutive write ids.
        struct Run {
            let page: Int
            let writeID: UInt64
            let length: Int
        }

        private func body(of run: Run, type: UInt64) throws -> [UInt8] {
            var bytes: [UInt8] = []
            var place = 0
            while bytes.count < run.length {
                let offset = try page(run.page + place, type: type)
                guard try file.number(offset + 16, 8) == run.writeID + UInt64(place) else {
                    throw PlainBytes.Unreadable(description: "page \(run.page + place) has another write id")
                }
                bytes += try file.slice(offset + 40, min(pageBytes - 40, run.length - bytes.count))
                place += 1
            }
            return bytes
        }

        /// The value whose pages a list names.
        func named(_ list: [UInt8]) throws -> [UInt8] {
            let list = PlainBytes(bytes: list)
            let stored = try list.number(8, 8)
            var left = Int(stored & ~(1 << 63))
            var bytes: [UInt8] = []
            for place in stride(from: 24, to: list.bytes.count, by: 16) {
                let length = min(left, try list.int(place, 3) * (pageBytes - 40))
                bytes += try body(
                    of: Run(page: list.int(place + 3, 5), writeID: list.number(place + 8, 8), length: length), type: 5)
                left -= length
            }
            let digest = try stride(from: 0, to: bytes.count, by: pageBytes - 40).reduce(UInt64(0)) { digest, start in
                try PlainBytes(bytes: bytes).checksum(start, min(pageBytes - 40, bytes.count - start), seed: digest)
            }
            guard left == 0, try list.number(16, 8) == digest else {
                throw PlainBytes.Unreadable(description: "a value is not what its digest says")
            }
            return stored >> 63 == 0 ? bytes : try PlainBytes.unpacked(bytes[...], count: list.int(0, 8))
        }

        /// The offset of a page whose checksum, number and type are right.
        private func page(_ number: Int, type: UInt64?) throws -> Int {
            let offset = number * pageBytes
            guard try PlainFile.isSealed(file, number, seed: seed), try file.int(offset + 8, 5) == number,
                try type == nil || file.number(offset + 13, 1) == type
            else { throw PlainBytes.Unreadable(description: "page \(number) is not what it should be") }
            return offset
        }

        /// Returns the entries below, and checks the counts of a node with them.
        private func traverse(_ reference: UInt64, _ isCounted: Bool, _ body: (ModelKey, [UInt8]) throws -> Void) throws
            -> Int
        {
            let offset = try page(Int(reference >> 24), type: nil)
            guard try file.number(offset + 16, 3) == reference & 0xff_ffff else {
                throw PlainBytes.Unreadable(description: "page \(reference >> 24) has another write id")
            }
            let count = try file.int(offset + 28, 2)
            var below = 0
            func visit(_ child: UInt64, countAt place: Int) throws {
                let found = try traverse(child, isCounted, body)
                guard try !isCounted || file.int(place, 8) == found else {
                    throw PlainBytes.Unreadable(description: "page \(reference >> 24) has a wrong count")
                }
                below += found
            }
            switch try file.number(offset + 13, 1) {
            case 1:
                for slot in 0..<count {
                    let key = try file.number(offset + 40 + slot * 8, 8)
                    let record = offset + (try file.int(offset + 40 + count * 8 + slot * 2, 2))
                    try body(.integer(key), value(record, file.int(record, 2), at: record + 2))
                }
                return count
            case 2:
                guard try file.int(offset + 30, 2) == (isCounted ? 1 : 0) else {
                    throw PlainBytes.Unreadable(description: "page \(reference >> 24) does not count as its tree does")
                }
                for slot in 0..<count {
                    let place = slot < 84 ? 1384 + slot * 8 : 3408 + (slot - 84) * 8
                    try visit(file.number(offset + 2064 + slot * 8, 8), countAt: offset + place)
                }
                return below
            case 3:
                try forEachRecord(offset, count) { try body(.bytes($0), value($1, $2, at: $1)) }
                return count
            case 4:
                try forEachRecord(offset, count) { _, place, length in
                    guard length == (isCounted ? 16 : 8) else {
                        throw PlainBytes.Unreadable(
                            description: "page \(reference >> 24) has a child of \(length) bytes")
                    }
                    try visit(file.number(place, 8), countAt: place + 8)
                }
                return below
            default: throw PlainBytes.Unreadable(description: "page \(reference >> 24) is no node")
            }
        }

        /// The entries of a byte node: key, place of the value, and its length with the flag.
        private func forEachRecord(_ offset: Int, _ count: Int, _ body: ([UInt8], Int, Int) throws -> Void) throws {
            let fence = offset + (try file.int(offset + 40, 2))
            let prefix = try file.slice(fence, file.int(offset + 30, 2))
            for slot in 0..<count {
                let record = offset + (try file.int(offset + 48 + count * 4 + slot * 2, 2))
                let suffix = try file.int(record, 2)
                try body(
                    Array(prefix) + file.slice(record + 4, suffix), record + 4 + suffix, file.int(record + 2, 2))
            }
        }

        /// - Parameter length: in its low 15 bits; the top bit marks a descriptor.
        private func value(_ record: Int, _ length: Int, at place: Int) throws -> [UInt8] {
            guard length & 0x8000 != 0 else { return Array(try file.slice(place, length)) }
            let stored = try file.number(place + 20, 4)
            let run = try Run(
                page: file.int(place, 8), writeID: file.number(place + 8, 8), length: Int(stored & 0x3fff_ffff))
            let bytes = try self.body(of: run, type: 5)
            if stored >> 30 & 1 == 1 { return try named(bytes) }
            let count = try file.int(place + 16, 4)
            return stored >> 31 == 0 ? bytes : try PlainBytes.unpacked(bytes[...], count: count)
        }
    }
}
