import MakoStorage
import MakoTestSupport

/// Edits of the files of a database, as bytes.
///
/// Each has five bytes: what is done and to which file, a block of 4,096 bytes, an offset in it (two bytes), and a length or number `n`.
/// The low two bits of the first byte say what is done, the next two choose the file, by name:
///
///     0   the `n` bytes that follow replace the bytes there
///     1   the same, and the page, or the log, gets the checksums of what it holds then
///     2   the block is replaced by block `n` of the file, and sealed where the top bit is set
///     3   the file ends there; at the beginning of its first block: it is gone
enum FileEdits {
    /// Returns whether checksums were forged.
    static func apply(_ edits: ArraySlice<UInt8>, to image: inout DiskImage) -> Bool {
        let names = image.files.keys.sorted()
        var rest = edits
        var isForged = false
        while rest.count >= 5, !names.isEmpty {
            let head = Array(rest.prefix(5))
            rest = rest.dropFirst(5)
            let name = names[Int(head[0] >> 2 & 3) % names.count]
            guard var file = image.files[name] else { continue }
            let blocks = max(1, Int(file.size + 4095) / 4096)
            let block = Int(head[1]) % blocks
            let place = UInt64(block * 4096 + (Int(head[2]) | Int(head[3]) << 8) % 4096)
            switch head[0] & 3 {
            case 2:
                file.replace(
                    at: UInt64(block * 4096), with: file.bytes(at: UInt64(Int(head[4]) % blocks * 4096), count: 4096))
                if head[0] & 128 != 0 {
                    seal(&file, name, block: block)
                    isForged = true
                }
            case 3 where place == 0:
                image.files[name] = nil
                continue
            case 3: file.resize(to: min(place, file.size))
            default:
                let bytes = Array(rest.prefix(Int(head[4])))
                rest = rest.dropFirst(bytes.count)
                let room = file.size > place ? Int(file.size - place) : 0
                file.replace(at: place, with: Array(bytes.prefix(room)))
                if head[0] & 3 == 1 {
                    seal(&file, name, block: block)
                    isForged = true
                }
            }
            image.files[name] = file
        }
        return isForged
    }

    private static func seal(_ file: inout ByteImage, _ name: String, block: Int) {
        if name.contains("-wal-") {
            var bytes = file.bytes
            ForgedChecksums.seal(log: &bytes)
            file = ByteImage(bytes)
        } else {
            let header = file.bytes(at: 0, count: 4096)
            var page = file.bytes(at: UInt64(block * 4096), count: 4096)
            ForgedChecksums.seal(page: &page, number: block, header: header)
            file.replace(at: UInt64(block * 4096), with: page)
        }
    }
}
