/// Chooses between leaves of which it is unknown whether they are in use.
///
/// Changes are copy-on-write, so free pages have older versions of a leaf. Where leaves overlap, the one with the
/// highest write id was written last; entries that it lacks were deleted or moved since the others were written.
struct LeafSweep {
    typealias KeyRange = SalvageReport.KeyRange

    struct Leaf {
        var page: UInt64
        var writeID: UInt64
        var range: KeyRange
    }

    /// A range of keys, and the page that is used for it.
    struct Segment: Equatable {
        var page: UInt64
        var range: KeyRange
    }

    /// Sweeps the leaves' ranges in key order, with the open ranges in a heap, the newest on top.
    static func segments(_ leaves: [Leaf]) -> [Segment] {
        let leaves = leaves.sorted { isLower($0.range.lower, $1.range.lower) }
        var segments: [Segment] = []
        var open = LeafHeap()
        var next = 0
        var position = leaves.first?.range.lower
        while next < leaves.count || !open.isEmpty {
            if open.isEmpty { position = leaves[next].range.lower }
            while next < leaves.count, !isLower(position, leaves[next].range.lower) {
                open.push(leaves[next])
                next += 1
            }
            while let top = open.top, let upper = top.range.upper, let position, upper <= position { open.pop() }
            guard let top = open.top else { continue }
            var end = top.range.upper
            if next < leaves.count, let begin = leaves[next].range.lower, end.map({ begin < $0 }) ?? true {
                end = begin
            }
            if let last = segments.last, last.page == top.page, last.range.upper == position {
                segments[segments.count - 1].range.upper = end
            } else {
                segments.append(Segment(page: top.page, range: KeyRange(lower: position, upper: end)))
            }
            guard let end else { break }
            position = end
        }
        return segments
    }

    /// Whether one lower bound is before another; nil is the lowest.
    private static func isLower(_ a: SalvageReport.Key?, _ b: SalvageReport.Key?) -> Bool {
        guard let b else { return false }
        return a.map { $0 < b } ?? true
    }
}

/// A binary heap of leaves with the highest write id on top.
private struct LeafHeap {
    private var leaves: [LeafSweep.Leaf] = []

    var isEmpty: Bool { leaves.isEmpty }
    var top: LeafSweep.Leaf? { leaves.first }

    private func isAbove(_ a: Int, _ b: Int) -> Bool {
        let isNewer = leaves[a].writeID > leaves[b].writeID
        return isNewer
    }

    mutating func push(_ leaf: LeafSweep.Leaf) {
        leaves.append(leaf)
        var child = leaves.count - 1
        while child > 0, isAbove(child, (child - 1) / 2) {
            leaves.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func pop() {
        leaves.swapAt(0, leaves.count - 1)
        leaves.removeLast()
        var parent = 0
        while true {
            var best = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < leaves.count && isAbove(child, best) {
                best = child
            }
            if best == parent { return }
            leaves.swapAt(parent, best)
            parent = best
        }
    }
}
