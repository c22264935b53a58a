import Foundation
import Mako

enum Priority: Int, Codable, Sendable { case low, medium, high }

@Entity final class Tag {
    var name: String = ""
    init(name: String) { self.name = name }
}

@Entity final class Reminder {
    var title: String = ""
    var notes: String = ""
    var isCompleted: Bool = false
    var priority: Priority = Priority.low
    var dueDate: Date?
    var tags: [Tag] = []
    var list: RemindersList?
    init(title: String = "") { self.title = title }
}

@Entity final class RemindersList {
    var title: String = ""
    var position: Int = 0
    @Relationship(inverse: \Reminder.list) var reminders: ToMany<Reminder>
}

@Entity struct Player {
    var id: Int?
    var name: String
    var score: Int
    init(name: String, score: Int) { (self.name, self.score) = (name, score) }
}

struct Reward: Sendable { var points = 0 }
