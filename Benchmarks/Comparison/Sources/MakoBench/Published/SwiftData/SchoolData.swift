import Foundation

/// Names, ages, schools and grades as the design draws them, from fixed seeds instead.
struct UserData {
    let id: UUID
    let firstName: String
    let surname: String
    let age: Int

    /// Of about 4,900 first names one is Jane.
    init(number: Int, ages: Range<Int>) {
        var random = Mixer(seed: UInt64(number))
        id = SchoolData.uuid(UInt64(number), kind: 1)
        let first = Int(random.next(upperBound: UInt64(4_900)))
        firstName = first == 0 ? "Jane" : SchoolData.word(first)
        surname = SchoolData.word(5_000 + Int(random.next(upperBound: UInt64(20_000))))
        age = ages.lowerBound + Int(random.next(upperBound: UInt64(ages.count)))
    }
}

enum Subject: String, CaseIterable {
    case maths, english, literature, physics, chemistry, biology, history, geography, french, german, music, art
    case physicalEducation, religiousStudies
}

enum Grade: String, CaseIterable {
    case aStar, a, b, c, d, e, f, u
}

enum ExamBoard: String, CaseIterable {
    case aqa, edexcel, ocr
}

enum SchoolType: String, CaseIterable {
    case comprehensive, grammar, `private`, religious
}

struct GradeData {
    let id: UUID
    let subject: Subject
    let grade: Grade
    let examBoard: ExamBoard
}

struct StudentData {
    let user: UserData
    /// The place of the school.
    let school: Int
    /// Two to seven.
    let grades: [GradeData]

    init(number: Int, students: Int) {
        var random = Mixer(seed: UInt64(number) &+ 1 << 40)
        user = UserData(number: number, ages: 11..<18)
        school = number / max(students / SchoolData.schools, 1) % SchoolData.schools
        let count = 2 + Int(random.next(upperBound: UInt64(6)))
        grades = (0..<count).map { place in
            GradeData(
                id: SchoolData.uuid(UInt64(number) * 8 + UInt64(place), kind: 2),
                subject: Subject.allCases[Int(random.next(upperBound: UInt64(Subject.allCases.count)))],
                grade: Grade.allCases[Int(random.next(upperBound: UInt64(Grade.allCases.count)))],
                examBoard: ExamBoard.allCases[Int(random.next(upperBound: UInt64(ExamBoard.allCases.count)))])
        }
    }
}

enum SchoolData {
    static let schools = 100
    static let cheaters = "Falconwood College"

    static func name(_ number: Int) -> String { number == 0 ? cheaters : "\(word(30_000 + number).capitalized) School" }
    static func location(_ number: Int) -> String { number == 0 ? "Falconwood" : word(40_000 + number).capitalized }
    static func type(_ number: Int) -> SchoolType { SchoolType.allCases[number % SchoolType.allCases.count] }

    static func uuid(_ number: UInt64, kind: UInt64) -> UUID {
        let (high, low) = (Mixer.mix(number ^ kind << 56), Mixer.mix(number &+ kind << 48 &+ 77))
        func byte(_ word: UInt64, _ place: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: word >> (place * 8)) }
        return UUID(
            uuid: (
                byte(high, 0), byte(high, 1), byte(high, 2), byte(high, 3), byte(high, 4), byte(high, 5), byte(high, 6),
                byte(high, 7), byte(low, 0), byte(low, 1), byte(low, 2), byte(low, 3), byte(low, 4), byte(low, 5),
                byte(low, 6), byte(low, 7)
            ))
    }

    /// A word that belongs to a number, of four to twelve letters.
    static func word(_ number: Int) -> String {
        var mixed = Mixer.mix(UInt64(number))
        var text = ""
        for _ in 0..<(2 + number % 5) {
            text += syllables[Int(mixed % UInt64(syllables.count))]
            mixed /= UInt64(syllables.count)
        }
        return text.prefix(1).uppercased() + text.dropFirst()
    }

    private static let syllables = [
        "an", "bel", "co", "da", "el", "fi", "ga", "ho", "is", "ka", "lo", "mar", "ne", "ri", "su", "ta",
    ]
}
